// All ranks: barrier, broadcast and allreduce of 8 bytes, blocking, one after another.
//
// usage: collectives [MILLISECONDS-PER-BATCH]
#include "repeat.h"
#include <stdlib.h>

enum { BATCHES = 5 };
static double value, sum;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double target = (argc > 1 ? atof(argv[1]) : 20) / 1000;
  measure("barrier", barrier, target, BATCHES);
  measure("bcast", broadcast, target, BATCHES);
  measure("allreduce", allreduce, target, BATCHES);
  MPI_Finalize();
  return 0;
}
