// Two ranks: 8-byte ping-pong and message rate. Plain MPI, so that it measures any implementation.
#include "sample.h"
#include <mpi.h>

enum { BATCHES = 9, EXCHANGES = 10000, WINDOW = 64, WINDOWS = 200 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  long value = 0;
  for (int batch = 0; batch < BATCHES && rank < 2; batch++) {
    double start = MPI_Wtime();
    for (int i = 0; i < EXCHANGES; i++) {
      if (rank == 0) {
        MPI_Send(&value, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      }
    }
    if (rank == 0 && batch) sample("latency", 8, (MPI_Wtime() - start) * 1e9 / (2.0 * EXCHANGES));
  }
  long values[WINDOW] = {0};
  MPI_Request requests[WINDOW];
  for (int batch = 0; batch < BATCHES && rank < 2; batch++) {
    double start = MPI_Wtime();
    for (int window = 0; window < WINDOWS; window++) {
      for (int i = 0; i < WINDOW; i++) {
        if (rank == 0) MPI_Isend(&values[i], 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[i]);
        else MPI_Irecv(&values[i], 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
      if (rank == 0) MPI_Recv(&value, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else MPI_Send(&value, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    }
    if (rank == 0 && batch) sample("message", 8, (MPI_Wtime() - start) * 1e9 / ((double)WINDOW * WINDOWS));
  }
  MPI_Finalize();
  return 0;
}
