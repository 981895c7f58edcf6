// Ranks on several hosts. `pairs`: the first half of the ranks on one host, each with a partner in the second half on another:
// latency, streams of messages. `collectives`: barrier, bcast, allreduce. Plain MPI, so that it measures any implementation.
#include "repeat.h"
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 7, EXCHANGES = 2000, WINDOW = 16, LARGEST = 4 << 20 };

// What a batch is to take at most. Some implementations need a hundred times as long as others.
static const double BATCH_S = 0.15;

static char *buffer, *result;
static int rank, ranks, partner, is_first;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// Runs so many of something, and returns the seconds they took: from the first rank of the first host that began to the last one
// that ended. Where ranks outnumber the cores a rank alone would see too little: it may leave the barrier long after others.
static double timed(void (*operation)(int, int), int bytes, int repetitions) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = now();
  operation(bytes, repetitions);
  // A host has one clock.
  double times[] = {is_first ? -start : -HUGE_VAL, is_first ? now() : -HUGE_VAL};
  MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return times[1] + times[0];
}

// Prints samples: batches of at most `most` repetitions of something that moves `messages` messages.
static void sampled(const char *name, void (*operation)(int, int), int bytes, int most, double messages) {
  int repetitions = most < 8 ? 1 : most / 8;
  double first = timed(operation, bytes, repetitions), second = timed(operation, bytes, 1);
  // The first try contains what is done once; of few repetitions the time of one tells more.
  double each = first / repetitions < second ? first / repetitions : second;
  repetitions = each * most <= BATCH_S ? most : each > BATCH_S ? 1 : (int)(BATCH_S / each);
  MPI_Bcast(&repetitions, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int batch = 0; batch < BATCHES - 1; batch++) {
    double elapsed = timed(operation, bytes, repetitions);
    if (rank == 0) sample(name, bytes, elapsed * 1e9 / repetitions / messages);
  }
}

static void exchange(int bytes, int repetitions) {
  for (int i = 0; i < repetitions; i++) {
    if (is_first) {
      MPI_Send(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
      MPI_Recv(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(buffer, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    }
  }
}

// Sends windows of messages, and ends when all of them are there.
static void stream(int bytes, int windows) {
  MPI_Request requests[WINDOW];
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
  if (!strcmp(mode, "latency")) sampled("latency", exchange, 8, EXCHANGES, 2);
  for (int i = 2; i < argc && !strcmp(mode, "stream"); i++) {
    // The time of a message, of all that the ranks of a host send: as many as make 64 MiB.
    int bytes = atoi(argv[i]), windows = (64 << 20) / WINDOW / bytes / (ranks / 2);
    sampled("stream", stream, bytes, windows < 2 ? 2 : windows, (double)WINDOW * (ranks / 2));
  }
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
