// Tells by its end which algorithm a broadcast takes: rank 1 joins it only after a message that rank 0, the root, sends
// afterwards. Through slots the root does not wait; by a schedule it does, and the job is stuck.
#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
