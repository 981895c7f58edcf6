// MPI_Abort in one rank ends the job with its code, though the others wait for messages that never come.
// weft-test: exit=7 ranks=1,2,17
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, size, value;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
