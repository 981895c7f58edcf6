// MPI_THREAD_MULTIPLE: several threads of each rank in collective operations of different communicators at once.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, TURNS = 100 };
static int size, wrong[THREADS];
static MPI_Comm comms[THREADS];

static void *run(void *argument) {
  int t = (int)(long)argument;
  int *all = malloc(size * 400 * sizeof *all), mine[400];
  for (int turn = 0; turn < TURNS; turn++) {
    int count = turn % 2 ? 400 : 1, sum = 0, x = check_rank + turn * t;
    wrong[t] += MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comms[t]) != MPI_SUCCESS;
    wrong[t] += sum != size * (size - 1) / 2 + size * turn * t;
    for (int i = 0; i < count; i++) mine[i] = check_rank * 1000 + i + t;
    MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, comms[t]);
    for (int i = 0; i < size * count; i++) wrong[t] += all[i] != i / count * 1000 + i % count + t;
    MPI_Barrier(comms[t]);
  }
  free(all);
  return NULL;
}

int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_EQUAL(level, MPI_THREAD_MULTIPLE);
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (long t = 1; t < THREADS; t++) pthread_create(&threads[t], NULL, run, (void *)t);
  run((void *)0);
  for (int t = 1; t < THREADS; t++) pthread_join(threads[t], NULL);
  for (int t = 0; t < THREADS; t++) {
    CHECK_EQUAL(wrong[t], 0);
    MPI_Comm_free(&comms[t]);
  }
  return check_end();
}
