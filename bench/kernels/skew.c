// All ranks: how long the others are in a broadcast while one rank in eight is late by a millisecond.
//
// A late rank waits by polling, as a program does that waits for something else, so it does not keep its core from the
// others. The root is never late. Printed is the mean time in MPI_Bcast of all ranks that are not late. Of the two
// barriers before, the first wakes cores that fell asleep while late ranks were polling: waking them is not broadcasting.
//
// usage: skew
#include "sample.h"
#include <mpi.h>
#include <stdlib.h>

enum { BATCHES = 5, REPETITIONS = 40 };
static const int SIZES[] = {8, 1024, 65536};

static double in_broadcast(int is_late, char *data, int bytes) {
  double inside = 0;
  for (int i = 0; i < REPETITIONS; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int flag; is_late && MPI_Wtime() - start < 1e-3;)
      MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    start = MPI_Wtime();
    MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    inside += MPI_Wtime() - start;
  }
  return inside / REPETITIONS;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int counts = rank % 8 != 7;
  char *data = calloc(1, SIZES[2]);
  for (int which = 0; which < 3; which++) {
    for (int batch = 0; batch < BATCHES; batch++) {
      for (int skew = 0; skew < 2; skew++) {
        double mine[2] = {in_broadcast(skew && !counts, data, SIZES[which]), 1}, all[2];
        if (!counts) mine[0] = mine[1] = 0;
        MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) sample(skew ? "bcast-late" : "bcast-even", SIZES[which], all[0] / all[1] * 1e9);
      }
    }
  }
  free(data);
  MPI_Finalize();
  return 0;
}
