// MPI_Alloc_mem keeps the alignment that an info object asks for.
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Info info;
  char *aligned;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "256"));
  CHECK_OK(MPI_Alloc_mem(1000, info, &aligned));
  CHECK((uintptr_t)aligned % 256 == 0);
  CHECK_OK(MPI_Free_mem(aligned));
  MPI_Info_free(&info);
  return check_end();
}
