// Two ranks, messages of 1 B to 8 MiB: `trip`, half of a round trip of blocking calls, and `stream`, the time of each of
// 64 messages that are in flight one way. What is measured while the ranks' cores are far from each other is called
// `trip-far` and `stream-far`, and what is measured while that changes is dropped.
//
// usage: pair_sizes [MILLISECONDS-PER-SAMPLE [FROM-BYTES TO-BYTES]]
#include "distance.h"
#include "sample.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 8 << 20, SAMPLES = 5, TRIES = 25, WINDOW = 64 };
static char *out, *in;
static int rank;
static _Atomic long *line;

static void trips(int size, int repetitions) {
  for (int i = 0; i < repetitions; i++) {
    if (rank == 0) {
      MPI_Send(out, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(in, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

static void streams(int size, int repetitions) {
  MPI_Request requests[WINDOW];
  for (int i = 0; i < repetitions; i++) {
    for (int k = 0; k < WINDOW; k++) {
      if (rank == 0) MPI_Isend(out, size, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &requests[k]);
      else MPI_Irecv(in, size, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    char word = 0;
    if (rank == 0) MPI_Recv(&word, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(&word, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
  }
}

// Prints samples of about `target` seconds each. Both ranks repeat equally often: rank 0 says how often.
static void measure(const char *name, void (*pattern)(int, int), int size, int messages, double target) {
  int repetitions = 1;
  for (int done = 0, tries = 0; done <= SAMPLES && tries < TRIES; tries++) {
    MPI_Bcast(&repetitions, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int was_far = is_far(line, rank);
    double start = MPI_Wtime();
    pattern(size, repetitions);
    double elapsed = MPI_Wtime() - start;
    int far = is_far(line, rank);
    // Not enough, a sample, or none because the cores have moved.
    int found = elapsed <= target / 2 ? 0 : far == was_far ? 1 : 2;
    MPI_Bcast(&found, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (found == 2) continue;
    if (found == 0) {
      repetitions = elapsed < target / 20 ? repetitions * 10 : (int)(repetitions * target / elapsed) + 1;
      continue;
    }
    if (rank == 0 && done) {
      char what[32];
      snprintf(what, sizeof(what), "%s%s", name, far ? "-far" : "");
      sample(what, size, elapsed * 1e9 / repetitions / messages);
    }
    done++;
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double target = (argc > 1 ? atof(argv[1]) : 10) / 1000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = aligned_alloc(4096, LARGEST), in = aligned_alloc(4096, LARGEST);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(out, 1, LARGEST), memset(in, 2, LARGEST);
  line = distance_line(rank);
  int from = argc > 3 ? atoi(argv[2]) : 1, to = argc > 3 ? atoi(argv[3]) : LARGEST;
  if (from < 1 || to > LARGEST) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int size = from; size <= to; size *= 2) measure("trip", trips, size, 2, target);
  for (int size = from; size <= to; size *= 2) measure("stream", streams, size, WINDOW, target);
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
