// Ranks that wait for each other in functions with names, for debuggers.
#include <mpi.h>
#include <stdio.h>

static int turn(int rank, int size) {
  int token = rank;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  return token;
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int token = turn(rank, size);
  printf("rank %d has %d\n", rank, token);
  MPI_Finalize();
  return 0;
}
