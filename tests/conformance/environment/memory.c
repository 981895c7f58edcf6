// MPI_Alloc_mem and MPI_Free_mem, and address arithmetic.
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char *blocks[20];
  for (int i = 0; i < 20; i++) {
    MPI_Aint size = (MPI_Aint)1 << i;
    CHECK_OK(MPI_Alloc_mem(size, MPI_INFO_NULL, &blocks[i]));
    CHECK(blocks[i] != NULL && (uintptr_t)blocks[i] % (size < 16 ? 1 : 16) == 0);
    memset(blocks[i], i, (size_t)size);
  }
  for (int i = 0; i < 20; i++) {
    CHECK(blocks[i][0] == i && blocks[i][((size_t)1 << i) - 1] == i);
    CHECK_OK(MPI_Free_mem(blocks[i]));
  }
  // What was not given out, or was freed, cannot be freed.
  char *none;
  CHECK_CLASS(MPI_Free_mem(blocks[3]), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Free_mem(&none), MPI_ERR_BASE);
  CHECK_OK(MPI_Alloc_mem(0, MPI_INFO_NULL, &none));
  CHECK_OK(MPI_Free_mem(none));
  CHECK_CLASS(MPI_Alloc_mem(PTRDIFF_MAX, MPI_INFO_NULL, &none), MPI_ERR_NO_MEM);
  CHECK(MPI_Alloc_mem(-1, MPI_INFO_NULL, &none) != MPI_SUCCESS);

  double array[10];
  MPI_Aint a, b;
  CHECK_OK(MPI_Get_address(&array[2], &a));
  CHECK_OK(MPI_Get_address(&array[7], &b));
  CHECK_EQUAL(MPI_Aint_diff(b, a), 5 * sizeof(double));
  CHECK_EQUAL(MPI_Aint_add(a, 5 * sizeof(double)), b);
  CHECK_EQUAL(b - a, 5 * (MPI_Aint)sizeof(double));
  return check_end();
}
