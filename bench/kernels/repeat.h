// Times an operation of all ranks: repeated back to back, in batches.
#ifndef WEFT_BENCH_REPEAT_H
#define WEFT_BENCH_REPEAT_H
#include "sample.h"
#include <mpi.h>

// Seconds that so many repetitions take. They have ended when the last rank has: a root may run ahead.
static double seconds_of(void (*operation)(void), int repetitions) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < repetitions; i++) operation();
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

// Prints samples of `name`, for as many ranks as there are. The number of repetitions follows from short tries, so that
// a batch takes `target` seconds; it is the same in every rank.
static void measure(const char *name, void (*operation)(void), double target, int batches) {
  int repetitions = 1, rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (;;) {
    double elapsed = seconds_of(operation, repetitions);
    int next = elapsed >= target || repetitions >= 100000 ? 0
               : elapsed < target / 10                     ? repetitions * 10
                                                           : (int)(repetitions * target / elapsed * 1.1) + 1;
    MPI_Bcast(&next, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!next) break;
    repetitions = next;
  }
  for (int batch = 0; batch < batches; batch++) {
    double elapsed = seconds_of(operation, repetitions);
    if (rank == 0) sample(name, ranks, elapsed * 1e9 / repetitions);
  }
}
#endif
