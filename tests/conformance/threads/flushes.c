// Several threads of a rank wait for one buffer to be empty, by flushes, by requests, and by lists that another request
// completes first; all of them go on when it is.
#include "../check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 6, ROUNDS = 12, LENGTH = 80000, MESSAGES = 4 }; // Bytes, beyond every eager size.
static int rank, left, right;
static atomic_int through;
static pthread_barrier_t barrier;

static void *body(void *argument) {
  int me = (int)(long)argument;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Request requests[2];
    int index = -1, never = -1, flag = 0;
    pthread_barrier_wait(&barrier); // The buffer is full.
    switch ((me + round) % 4) {
    case 0:
      CHECK_OK(MPI_Buffer_flush());
      break;
    case 1:
      CHECK_OK(MPI_Buffer_iflush(&requests[0]));
      CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      break;
    case 2: // Leaves by another request, then comes back.
      CHECK_OK(MPI_Irecv(&never, 1, MPI_INT, rank, 100 + me, MPI_COMM_WORLD, &requests[0]));
      CHECK_OK(MPI_Buffer_iflush(&requests[1]));
      CHECK_OK(MPI_Send(&me, 1, MPI_INT, rank, 100 + me, MPI_COMM_WORLD));
      CHECK_OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK_EQUAL(never, me);
      break;
    default:
      CHECK_OK(MPI_Buffer_iflush(&requests[0]));
      while (!flag)
        CHECK_OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    }
    atomic_fetch_add(&through, 1);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided, size, space = MESSAGES * (LENGTH + MPI_BSEND_OVERHEAD);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_rank = rank;
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  char *buffer = malloc(space), *data = calloc(LENGTH, 1);
  void *address;
  pthread_t threads[THREADS];
  CHECK_OK(MPI_Buffer_attach(buffer, space));
  pthread_barrier_init(&barrier, NULL, THREADS + 1);
  for (long t = 0; t < THREADS; t++)
    pthread_create(&threads[t], NULL, body, (void *)t);
  for (int round = 0; round < ROUNDS; round++) {
    int before = atomic_load(&through);
    for (int i = 0; i < MESSAGES; i++)
      CHECK_OK(MPI_Bsend(data, LENGTH, MPI_BYTE, right, i, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < MESSAGES; i++) {
      MPI_Barrier(MPI_COMM_WORLD); // Messages leave one by one, from all ranks alike, and not in order.
      CHECK_EQUAL(atomic_load(&through), before);
      MPI_Barrier(MPI_COMM_WORLD);
      CHECK_OK(MPI_Recv(data, LENGTH, MPI_BYTE, left, (i + round) % MESSAGES, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    pthread_barrier_wait(&barrier);
    CHECK_EQUAL(atomic_load(&through), before + THREADS);
  }
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], NULL);
  CHECK_OK(MPI_Buffer_detach(&address, &space));
  free(buffer);
  free(data);
  return check_end();
}
