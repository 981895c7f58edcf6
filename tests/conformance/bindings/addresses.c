// Sums and differences of addresses. weft-test: ranks=1 part=one-worker
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char bytes[16];
  MPI_Aint first = (MPI_Aint)(intptr_t)bytes, last = MPI_Aint_add(first, 15);
  CHECK(last == (MPI_Aint)(intptr_t)&bytes[15]);
  CHECK_EQUAL(MPI_Aint_diff(last, first), 15);
  CHECK_EQUAL(MPI_Aint_diff(first, last), -15);
  // Addresses in the upper half wrap, as unsigned ones do.
  CHECK(MPI_Aint_add(INTPTR_MAX, 1) == INTPTR_MIN);
  CHECK_EQUAL(MPI_Aint_diff(INTPTR_MIN, INTPTR_MAX), 1);
  return check_end();
}
