// Info of communicators, and calls that need two groups on a communicator with one. weft-test: ranks=1,3
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Info info, used;
  MPI_Comm comm;
  int size, rank, flag, length;
  char value[32];
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_size(comm, &size));
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_EQUAL(rank, check_rank);
  CHECK_OK(MPI_Comm_get_info(comm, &used));
  CHECK(used != MPI_INFO_NULL);
  // A hint may be dropped; one that is kept has the value that was given.
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
  CHECK(!flag || strcmp(value, "true") == 0);
  CHECK_OK(MPI_Info_free(&used));
  CHECK_OK(MPI_Comm_set_info(comm, MPI_INFO_NULL));
  CHECK_OK(MPI_Comm_set_info(comm, info));
  CHECK_OK(MPI_Info_free(&info));

  MPI_Group group;
  CHECK_CLASS(MPI_Comm_remote_size(comm, &size), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_remote_group(comm, &group), MPI_ERR_COMM);
  CHECK_OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL);
  return check_end();
}
