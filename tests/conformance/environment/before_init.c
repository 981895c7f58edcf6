// An error before MPI_Init goes to the initial error handler, which ends the job and says what is wrong.
// weft-test: exit=nonzero
// weft-test-output: MPI_Comm_size
// weft-test-output: before MPI_Init
#include "check.h"

int main(int argc, char **argv) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return 0;
}
