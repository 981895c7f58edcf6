// An error on a communicator with the default handler ends the whole job, though only one rank made it.
// weft-test: exit=nonzero ranks=1,2,17
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int rank, size, value = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == size - 1) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
