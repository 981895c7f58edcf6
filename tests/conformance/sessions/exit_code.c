// A program that has finalised its sessions ends with the exit code it likes, when all its ranks have ended.
// weft-test: exit=3
#include "check.h"

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank = -1;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "weft.test.exit", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_disconnect(&comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Session_finalize(&session));
  return check_failures ? 1 : rank == 0 ? 3 : 0;
}
