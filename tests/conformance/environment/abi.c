// The ABI queries of MPI 5.0.
#include "check.h"

int main(int argc, char **argv) {
  int major = -2, minor = -2;
  CHECK_EQUAL(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
  CHECK_EQUAL(major, MPI_ABI_VERSION);
  CHECK_EQUAL(minor, MPI_ABI_SUBVERSION);
  check_init(&argc, &argv);
  MPI_Info info = MPI_INFO_NULL;
  char value[64];
  int length = sizeof value, flag;
  CHECK_OK(MPI_Abi_get_info(&info));
  CHECK(info != MPI_INFO_NULL);
  CHECK_OK(MPI_Info_get_string(info, "mpi_aint_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Aint));
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Count));
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, "mpi_offset_size", &length, value, &flag));
  CHECK(flag && atoi(value) == (int)sizeof(MPI_Offset));
  MPI_Info_free(&info);
  return check_end();
}
