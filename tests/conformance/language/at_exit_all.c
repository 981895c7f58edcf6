// The exit functions of every rank run, not only those of the first: each writes one line.
// weft-test: ranks=4
// weft-test-output: rank 0 ends
// weft-test-output: rank 1 ends
// weft-test-output: rank 2 ends
// weft-test-output: rank 3 ends
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;
static void finish(void) { printf("rank %d ends\n", rank); }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  atexit(finish);
  MPI_Finalize();
  return 0;
}
