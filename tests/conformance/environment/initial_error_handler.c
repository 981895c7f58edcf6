// Errors that no object can take go to the initial error handler, which mpirun sets: here they are returned.
// weft-test: mpirun=-initial-errhandler,mpi_errors_return
#include "check.h"

int main(int argc, char **argv) {
  int size = -1;
  MPI_Errhandler found;
  MPI_Session session;
  char value[64];
  int length = sizeof value, flag = 0;
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Finalize(), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Is_thread_main(&flag), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Session_finalize(&(MPI_Session){MPI_SESSION_NULL}), MPI_ERR_SESSION);
  // A session makes the library usable, but not the communicators of the world model.
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_SELF, &size), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Finalize(), MPI_ERR_OTHER);

  CHECK_OK(MPI_Init(&argc, &argv));
  CHECK_CLASS(MPI_Init(&argc, &argv), MPI_ERR_OTHER);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &length, value, &flag));
  CHECK(flag && strcmp(value, "mpi_errors_return") == 0);
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &size), MPI_ERR_COMM);
  CHECK_OK(MPI_Finalize());

  CHECK_CLASS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Finalize(), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Init(&argc, &argv), MPI_ERR_OTHER);
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_OTHER);
  CHECK_EQUAL(MPI_Finalized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 1);
  return check_failures != 0;
}
