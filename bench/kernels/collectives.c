// All ranks: barrier, broadcast and allreduce of 8 bytes, blocking, one after another.
//
// usage: collectives [MILLISECONDS-PER-BATCH [OPERATION]]
#include "repeat.h"
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5 };
static double value, sum;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void broadcast(void) { MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static const struct {
  const char *name;
  void (*run)(void);
} OPERATIONS[] = {{"barrier", barrier}, {"bcast", broadcast}, {"allreduce", allreduce}};

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double target = (argc > 1 ? atof(argv[1]) : 20) / 1000;
  for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
    if (argc < 3 || !strcmp(argv[2], OPERATIONS[i].name))
      measure(OPERATIONS[i].name, OPERATIONS[i].run, target, BATCHES);
  MPI_Finalize();
  return 0;
}
