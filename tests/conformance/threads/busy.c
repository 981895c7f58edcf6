// A rank that computes, spins on memory or polls must not keep the others from running: every rank waits for a word
// that another thread of it, or a polled message, brings.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int word;

static void *setter(void *nothing) {
  (void)nothing;
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  atomic_store(&word, value);
  return NULL;
}

int main(int argc, char **argv) {
  int provided, size, flag = 0, value = 41, in = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;

  // Polling with MPI_Test: the sender runs although the receiver never blocks.
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &request);
  if (check_rank % 2 == 0) MPI_Send(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  if (check_rank % 2 == 1 || (check_rank == 0 && size % 2 == 1))
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  if (check_rank % 2 == 1) MPI_Send(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  CHECK_EQUAL(in, 41);

  // Polling with MPI_Iprobe.
  if (check_rank != 0) MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  for (int got = 0; check_rank == 0 && got < size - 1; got++) {
    MPI_Status status;
    for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in, 41);
  }

  // Spinning on a word that another thread of the rank sets after a message.
  pthread_t thread;
  pthread_create(&thread, NULL, setter, NULL);
  if (check_rank == 0) MPI_Send(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  while (atomic_load(&word) != 41) {
  }
  if (check_rank != 0) MPI_Send(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
  pthread_join(thread, NULL);
  return check_end();
}
