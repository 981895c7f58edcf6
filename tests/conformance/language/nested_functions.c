// Nested functions of GNU C whose addresses are taken: their trampolines run on the rank's stack.
// weft-test: cflags=-Wno-trampolines
#include "check.h"

static int apply(int (*function)(int), int value) { return function(value); }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int add(int value) {
    int sum = 0, mine = value + rank;
    CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    return sum;
  }
  int (*volatile function)(int) = add;
  CHECK_EQUAL(apply(function, 10), 10 * size + size * (size - 1) / 2);
  return check_end();
}
