// MPI_Abort on a communicator from a session ends the job with its code. weft-test: exit=9
#include "check.h"

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank = -1;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "weft.test.abort", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  if (rank == 0) MPI_Abort(comm, 9);
  // The others would wait for ever.
  MPI_Barrier(comm);
  return 0;
}
