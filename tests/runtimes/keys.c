// Keys of thread-specific data: data under a key are the thread's, and its rank's destructor is called for them. An argument is the number
// of keys.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { MOST = 200 };
static int rank, wanted;
static pthread_key_t keys[MOST];
static atomic_int destroyed[2];

static void check(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// The destructors of even and odd keys.
static void destroy_even(void *data) { atomic_fetch_add(&destroyed[0], *(int *)data); }
static void destroy_odd(void *data) { atomic_fetch_add(&destroyed[1], *(int *)data); }

static void *use(void *unused) {
  (void)unused;
  for (int i = 0; i < wanted; i++) {
    check(!pthread_getspecific(keys[i]), "a new thread has data under a key");
    check(!pthread_setspecific(keys[i], &rank), "pthread_setspecific");
  }
  for (int i = 0; i < wanted; i++) check(pthread_getspecific(keys[i]) == &rank, "the data are others");
  return NULL;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  wanted = atoi(argv[1]);
  for (int i = 0; i < wanted; i++) {
    check(!pthread_key_create(&keys[i], i % 2 ? destroy_odd : destroy_even), "pthread_key_create");
    for (int j = 0; j < i; j++) check(keys[i] != keys[j], "two keys are one");
  }
  use(NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_t thread;
  check(!pthread_create(&thread, NULL, use, NULL) && !pthread_join(thread, NULL), "pthread_create");
  check(destroyed[0] == rank * ((wanted + 1) / 2) && destroyed[1] == rank * (wanted / 2), "destructors");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < wanted; i++) check(pthread_getspecific(keys[i]) == &rank, "the data are another rank's");
  // A key that comes after a deleted one shows no data of before.
  check(!pthread_key_delete(keys[0]), "pthread_key_delete");
  tss_t again;
  check(tss_create(&again, NULL) == thrd_success && !tss_get(again), "a new key has data");
  tss_delete(again);
  printf("%d keys\n", rank);
  MPI_Finalize();
}
