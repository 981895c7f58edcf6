// What MPI_Abi_get_info says about the sizes of the ABI's integers.
// weft-test: needs=MPI_Abi_get_info
#include "check.h"

int main(int argc, char **argv) {
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
