// Ranks that pass a number round in functions with names, for debuggers. With an argument they wait until one lets them go on.
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static volatile int is_over;

static int turn(int rank, int size) {
  int token = rank;
  MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  return token;
}

static void wait_here(void) {
  char line[256];
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof(line), status) && strncmp(line, "Pid:", 4)) continue;
  fclose(status);
  printf("waits in %s", line), fflush(stdout);
  while (!is_over) sched_yield();
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) wait_here();
  int token = turn(rank, size);
  printf("rank %d has %d\n", rank, token);
  MPI_Finalize();
  return 0;
}
