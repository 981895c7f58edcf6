// MPI_INFO_ENV and MPI_Info_create_env describe how the program was started.
#include "check.h"

int main(int argc, char **argv) {
  MPI_Info info;
  CHECK_EQUAL(MPI_Info_create_env(argc, argv, &info), MPI_SUCCESS);
  int count = -1;
  CHECK_EQUAL(MPI_Info_get_nkeys(info, &count), MPI_SUCCESS);
  CHECK(count >= 0);
  CHECK_EQUAL(MPI_Info_free(&info), MPI_SUCCESS);
  check_init(&argc, &argv);
  CHECK_OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &count));
  CHECK(count >= 0);
  char value[64];
  int length = sizeof value, flag, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Info_get_string(MPI_INFO_ENV, "maxprocs", &length, value, &flag));
  if (flag) CHECK_EQUAL(atoi(value), size);
  return check_end();
}
