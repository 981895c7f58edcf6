// An error on a session with MPI_ERRORS_ARE_FATAL ends the job with a report of the call and the object.
// weft-test: exit=nonzero
// weft-test-output: MPI_Session_get_nth_pset on a session
// weft-test-output: MPI_ERRORS_ARE_FATAL
#include "check.h"

int main(int argc, char **argv) {
  MPI_Session session;
  int length = 0;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL);
  MPI_Session_finalize(&session);
  return 0;
}
