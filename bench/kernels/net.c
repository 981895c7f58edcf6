// Ranks on several hosts. `pairs`: the first half of the ranks on one host, each with a partner in the second half on another:
// latency, streams of messages. `collectives`: barrier, bcast, allreduce. Plain MPI, so that it measures any implementation.
#include "repeat.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 7, EXCHANGES = 2000, WINDOW = 16, LARGEST = 4 << 20 };

static char *buffer, *result;
static int rank, ranks, partner, is_first;

static void latency(int bytes) {
  for (int batch = 0; batch < BATCHES; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < EXCHANGES; i++) {
      if (is_first) {
        MPI_Send(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
      }
    }
    if (rank == 0 && batch) sample("latency", bytes, (MPI_Wtime() - start) * 1e9 / (2.0 * EXCHANGES));
  }
}

// Prints the time of a message, of all that the ranks of a host send.
static void stream(int bytes, long total) {
  MPI_Request requests[WINDOW];
  int windows = (int)(total / ((long)bytes * WINDOW * (ranks / 2)));
  if (windows < 2) windows = 2;
  for (int batch = 0; batch < BATCHES; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int window = 0; window < windows; window++) {
      for (int i = 0; i < WINDOW; i++) {
        if (is_first) MPI_Isend(buffer, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &requests[i]);
        else MPI_Irecv(buffer, bytes, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    }
    char end;
    if (is_first) MPI_Recv(&end, 1, MPI_BYTE, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(&end, 1, MPI_BYTE, partner, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double messages = (double)windows * WINDOW * (ranks / 2);
    if (rank == 0 && batch) sample("stream", bytes, (MPI_Wtime() - start) * 1e9 / messages);
  }
}

static int count;
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(buffer, count, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(buffer, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  buffer = calloc(1, LARGEST);
  result = calloc(1, LARGEST);
  memset(result, 0, LARGEST);
  is_first = rank < ranks / 2;
  partner = is_first ? rank + ranks / 2 : rank - ranks / 2;
  const char *mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "latency")) latency(8);
  for (int i = 2; i < argc && !strcmp(mode, "stream"); i++) stream(atoi(argv[i]), 64 << 20);
  if (!strcmp(mode, "collectives")) {
    measure("barrier", barrier, 0.05, 5);
    int counts[] = {1, 8 << 10, 128 << 10};
    const char *names[] = {"8", "64K", "1M"};
    for (int i = 0; i < 3; i++) {
      char name[32];
      count = counts[i];
      snprintf(name, sizeof name, "bcast-%s", names[i]);
      measure(name, bcast, 0.08, 5);
      snprintf(name, sizeof name, "allreduce-%s", names[i]);
      measure(name, allreduce, 0.08, 5);
    }
  }
  MPI_Finalize();
  return 0;
}
