// MPI_ERRORS_ABORT on a communicator ends its processes with a report. weft-test: exit=nonzero
// weft-test-output: MPI_ERRORS_ABORT
// weft-test-output: MPI_Comm_call_errhandler
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
  if (check_rank == 0) MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  // The others would wait for ever.
  MPI_Barrier(MPI_COMM_WORLD);
  puts("still here");
  return check_end();
}
