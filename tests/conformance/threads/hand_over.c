// A request started by one thread is completed by another; a thread blocked in a receive is served by the rank's own
// other thread; MPI_Init by the main thread and MPI_Finalize after all threads have gone.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

static MPI_Request request;
static int received = -1;

static void *complete(void *nothing) {
  (void)nothing;
  MPI_Status status;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(status.MPI_TAG, 9);
  CHECK(request == MPI_REQUEST_NULL);
  return NULL;
}

static void *receive(void *nothing) {
  (void)nothing;
  CHECK_OK(MPI_Recv(&received, 1, MPI_INT, check_rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return NULL;
}

int main(int argc, char **argv) {
  int provided, size, value = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 20; round++) {
    pthread_t completer, receiver;
    int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size, mine = check_rank * 100 + round;
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, &request));
    pthread_create(&completer, NULL, complete, NULL);
    CHECK_OK(MPI_Send(&mine, 1, MPI_INT, next, 9, MPI_COMM_WORLD));
    pthread_join(completer, NULL);
    CHECK_EQUAL(value, previous * 100 + round);
    pthread_create(&receiver, NULL, receive, NULL);
    CHECK_OK(MPI_Ssend(&mine, 1, MPI_INT, check_rank, 10, MPI_COMM_WORLD));
    pthread_join(receiver, NULL);
    CHECK_EQUAL(received, mine);
  }
  return check_end();
}
