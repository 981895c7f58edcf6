// MPI_THREAD_MULTIPLE: several pthreads of every rank talk at the same time, each with its like in the next rank, and
// each over a communicator of its own for collectives.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };
static int size;
static MPI_Comm comms[THREADS];

static void *body(void *argument) {
  int me = (int)(long)argument, flag = -1;
  int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;
  CHECK_OK(MPI_Is_thread_main(&flag));
  CHECK_EQUAL(flag, 0);
  for (int round = 0; round < ROUNDS; round++) {
    int out[3] = {check_rank, me, round}, in[3] = {-1, -1, -1};
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(out, 3, MPI_INT, next, me, in, 3, MPI_INT, previous, me, MPI_COMM_WORLD, &status));
    CHECK(in[0] == previous && in[1] == me && in[2] == round);
    CHECK(status.MPI_SOURCE == previous && status.MPI_TAG == me);
    if (round % 10 == 0) {
      int sum = 0;
      CHECK_OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comms[me]));
      CHECK_EQUAL(sum, me * size);
      CHECK_OK(MPI_Barrier(comms[me]));
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < THREADS; i++) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, body, (void *)i), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
  return check_end();
}
