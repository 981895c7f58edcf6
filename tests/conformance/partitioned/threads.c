// Partitions are made ready by several threads at once, while others look for arrivals; derived types with gaps.
#include "../check.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 8, PARTITIONS = THREADS * EACH, COUNT = 30, ROUNDS = 25 };

static int rank, left, out[2 * PARTITIONS * COUNT], in[2 * PARTITIONS * COUNT], current;
static MPI_Request send, receive;
static pthread_barrier_t barrier;

static int value(int owner, int round, int i) { return owner * 1000000 + round * 10000 + i; }

static void *work(void *argument) {
  int me = (int)(long)argument, arrived[PARTITIONS / 2] = {0};
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&barrier);
    for (int k = 0; k < EACH; k++) {
      int p = (k * 5 + round) % EACH * THREADS + me;
      for (int i = p * COUNT; i < (p + 1) * COUNT; i++)
        out[2 * i] = value(rank, round, i);
      if (k % 3)
        CHECK_OK(MPI_Pready(p, send));
      else
        CHECK_OK(MPI_Pready_list(1, &p, send));
    }
    memset(arrived, 0, sizeof(arrived));
    for (int missing = PARTITIONS / 2; missing;)
      for (int p = 0; p < PARTITIONS / 2; p++) {
        int flag = 0;
        CHECK_OK(MPI_Parrived(receive, p, &flag));
        CHECK(flag || !arrived[p]); // What has arrived stays.
        if (flag && !arrived[p]) {
          arrived[p] = 1, missing--;
          for (int i = 2 * p * COUNT; i < 2 * (p + 1) * COUNT; i++)
            if (in[2 * i] != value(left, current, i)) {
              CHECK_EQUAL(in[2 * i], value(left, current, i));
              break;
            }
        }
      }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int size, provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_rank = rank;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  left = (rank + size - 1) % size;
  MPI_Datatype gappy;
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gappy));
  CHECK_OK(MPI_Type_commit(&gappy));
  CHECK_OK(MPI_Psend_init(out, PARTITIONS, COUNT, gappy, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  CHECK_OK(MPI_Precv_init(in, PARTITIONS / 2, 2 * COUNT, gappy, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  pthread_barrier_init(&barrier, NULL, THREADS + 1);
  pthread_t threads[THREADS];
  for (long t = 0; t < THREADS; t++)
    pthread_create(&threads[t], NULL, work, (void *)t);
  for (int round = 0; round < ROUNDS; round++) {
    current = round;
    if (round % 2) {
      CHECK_OK(MPI_Start(&send));
      CHECK_OK(MPI_Start(&receive));
    } else {
      CHECK_OK(MPI_Start(&receive));
      CHECK_OK(MPI_Start(&send));
    }
    pthread_barrier_wait(&barrier);
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE)); // While the threads are at it.
    pthread_barrier_wait(&barrier);
    CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], NULL);
  MPI_Type_free(&gappy);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  return check_end();
}
