// A token travels round a ring of all ranks; each adds its number. Ends with 1 if the sum comes back wrong.
//
// usage: ring [ROUNDS]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int rounds = argc > 1 ? atoi(argv[1]) : 10;
  int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  long token = 0;
  double start = MPI_Wtime();
  for (int round = 0; round < rounds; round++) {
    if (size == 1) {
      MPI_Sendrecv_replace(&token, 1, MPI_LONG, next, round, previous, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
      MPI_Send(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_LONG, previous, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_LONG, previous, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      token += rank;
      MPI_Send(&token, 1, MPI_LONG, next, round, MPI_COMM_WORLD);
    }
  }
  double seconds = MPI_Wtime() - start;
  int wrong = 0;
  if (rank == 0) {
    long expected = (long)rounds * size * (size - 1) / 2;
    wrong = token != expected;
    printf("ring: %d rounds over %d ranks, token %ld, expected %ld, %.3f us per hop: %s\n", rounds, size, token, expected,
           seconds * 1e6 / rounds / size, wrong ? "WRONG" : "right");
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
