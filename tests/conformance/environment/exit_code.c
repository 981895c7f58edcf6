// The exit code of a rank that returns non-zero from main after MPI_Finalize is the exit code of the job.
// weft-test: exit=3
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  return rank == size / 2 ? 3 : 0;
}
