// Several threads of every rank exchange at once, each with its counterparts in all other ranks.
// weft-test: ranks=1,2,3,4 cflags=-pthread
#include "../check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 60 };
static int rank, size;

static void *exchange(void *argument) {
  int thread = (int)(long)argument;
  static const int lengths[4] = {1, 9, 300, 5000};
  int *in = malloc(5000 * sizeof(int)), *out = malloc(5000 * sizeof(int));
  for (int round = 0; round < ROUNDS; round++) {
    int length = lengths[(round + thread) % 4];
    for (int peer = 0; peer < size; peer++) {
      MPI_Request requests[2];
      MPI_Status status;
      out[0] = rank * 1000 + round;
      CHECK_OK(MPI_Irecv(in, 5000, MPI_INT, peer, thread, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Isend(out, length, MPI_INT, peer, thread, MPI_COMM_WORLD, &requests[1]));
      if (round % 3 == 0) {
        CHECK_OK(MPI_Wait(&requests[0], &status));
      } else if (round % 3 == 1) {
        int flag = 0;
        while (!flag)
          CHECK_OK(MPI_Test(&requests[0], &flag, &status));
      } else {
        int index = -1;
        while (index != 0)
          CHECK_OK(MPI_Waitany(2, requests, &index, &status));
      }
      CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
      CHECK_EQUAL(in[0], peer * 1000 + round);
    }
  }
  free(in);
  free(out);
  return NULL;
}

// A wildcard probe of one thread takes any message of the tag; together the threads take all.
static atomic_int taken;
static void *take(void *argument) {
  (void)argument;
  for (;;) {
    MPI_Message message;
    MPI_Status status;
    int value = -1;
    CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &message, &status));
    CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    if (value < 0)
      return NULL;
    taken++;
  }
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_rank = rank;
  pthread_t threads[THREADS];
  for (long i = 1; i < THREADS; i++)
    pthread_create(&threads[i], NULL, exchange, (void *)i);
  exchange(NULL);
  for (int i = 1; i < THREADS; i++)
    pthread_join(threads[i], NULL);

  for (long i = 1; i < THREADS; i++)
    pthread_create(&threads[i], NULL, take, (void *)i);
  for (int i = 0; i < 100; i++)
    for (int peer = 0; peer < size; peer++)
      CHECK_OK(MPI_Send(&i, 1, MPI_INT, peer, 99, MPI_COMM_WORLD));
  // No order holds between messages of different senders, so the end is announced when all have been taken.
  while (taken < 100 * size) {
    int flag;
    CHECK_OK(MPI_Iprobe(0, 98, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  }
  int end = -1;
  for (int i = 1; i < THREADS; i++)
    CHECK_OK(MPI_Send(&end, 1, MPI_INT, rank, 99, MPI_COMM_WORLD));
  for (int i = 1; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  CHECK_EQUAL(taken, 100 * size);
  return check_end();
}
