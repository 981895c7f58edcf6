// Two ranks: large messages. `fresh`: the sender writes the buffer before every message, and the receiver measures
// from the word that says so to the end of its receive. `unchanged`: the same without writing. `pingpong`: half of a
// round trip, nothing written. `window`: four messages in flight one way.
#include "sample.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8 << 20, MESSAGES = 24, WINDOW = 4 };

static char *pages(size_t bytes) {
  char *p = aligned_alloc(2 << 20, bytes);
  if (!p) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(p, 1, bytes);
  return p;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *out = pages(LARGEST), *in = pages((size_t)LARGEST * WINDOW);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int size = 32 << 10; size <= LARGEST; size *= 4) {
    for (int rewrite = 1; rewrite >= 0; rewrite--) {
      for (int i = 1; i <= MESSAGES; i++) {
        char word = 0;
        if (rank == 0) {
          MPI_Recv(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          if (rewrite || i == 1) memset(out, i, (size_t)size);
          MPI_Send(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
          MPI_Send(out, size, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
        } else if (rank == 1) {
          MPI_Send(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
          MPI_Recv(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          double start = MPI_Wtime();
          MPI_Recv(in, size, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          double elapsed = MPI_Wtime() - start;
          if (in[0] != (rewrite ? i : 1) || in[size - 1] != in[0]) {
            printf("wrong data in message %d of %d bytes\n", i, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
          }
          if (i > 4) sample(rewrite ? "message-fresh" : "message-unchanged", size, elapsed * 1e9);
        }
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES && rank < 2; i++) {
      double start = MPI_Wtime();
      if (rank == 0) {
        MPI_Send(out, size, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        MPI_Recv(in, size, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i > 3) sample("pingpong", size, (MPI_Wtime() - start) * 1e9 / 2);
      } else {
        MPI_Recv(in, size, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, size, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
      }
    }
    for (int i = 0; i < MESSAGES && rank < 2; i++) {
      MPI_Request requests[WINDOW];
      double start = MPI_Wtime();
      for (int k = 0; k < WINDOW; k++) {
        if (rank == 0) MPI_Isend(out, size, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &requests[k]);
        else MPI_Irecv(in + (size_t)k * size, size, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &requests[k]);
      }
      MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
      char word = 0;
      if (rank == 0) {
        MPI_Recv(&word, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i > 3) sample("window", size, (MPI_Wtime() - start) * 1e9 / WINDOW);
      } else {
        MPI_Send(&word, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
      }
    }
  }
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
