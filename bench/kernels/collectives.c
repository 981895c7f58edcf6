// All ranks: barrier, broadcast and allreduce of 8 bytes, blocking, one after another.
//
// usage: collectives [MILLISECONDS-PER-BATCH]
#include "sample.h"
#include <mpi.h>
#include <stdlib.h>

enum { BATCHES = 5 };
static int size;
static double value, sum;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

// Times an operation; the number of repetitions follows from a first short try, the same in every rank.
static void measure(const char *name, void (*operation)(void), int rank, double target) {
  int repetitions = 10;
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) operation();
    double elapsed = MPI_Wtime() - start;
    int next = elapsed >= target || repetitions >= 100000 ? 0
               : elapsed < target / 10                     ? repetitions * 10
                                                           : (int)(repetitions * target / elapsed * 1.1) + 1;
    MPI_Bcast(&next, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!next) break;
    repetitions = next;
  }
  for (int batch = 0; batch < BATCHES; batch++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < repetitions; i++) operation();
    // A broadcast's root may run ahead: the batch has ended when the last rank has.
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) sample(name, size, (MPI_Wtime() - start) * 1e9 / repetitions);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double target = (argc > 1 ? atof(argv[1]) : 20) / 1000;
  measure("barrier", barrier, rank, target);
  measure("bcast", broadcast, rank, target);
  measure("allreduce", allreduce, rank, target);
  MPI_Finalize();
  return 0;
}
