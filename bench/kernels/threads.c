// Two ranks: message rate under MPI_THREAD_MULTIPLE. The same windows of 8-byte messages are sent by one thread, then by
// four threads of each rank at once, each to its partner in the other rank: with a tag of its own on one communicator,
// then with a communicator of its own. A sample is the time per message, over all threads.
#include "sample.h"
#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4, BATCHES = 7, WINDOW = 64, WINDOWS = 200 };

static int rank;
static MPI_Comm comms[THREADS];

typedef struct {
  MPI_Comm comm;
  int tag;
} stream;

static void *windows(void *argument) {
  const stream *s = argument;
  long values[WINDOW] = {0}, word = 0;
  MPI_Request requests[WINDOW];
  for (int window = 0; window < WINDOWS; window++) {
    for (int i = 0; i < WINDOW; i++) {
      if (rank == 0) {
        values[i] = window * WINDOW + i;
        MPI_Isend(&values[i], 8, MPI_BYTE, 1, s->tag, s->comm, &requests[i]);
      } else {
        MPI_Irecv(&values[i], 8, MPI_BYTE, 0, s->tag, s->comm, &requests[i]);
      }
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) {
      MPI_Recv(&word, 0, MPI_BYTE, 1, s->tag + 1, s->comm, MPI_STATUS_IGNORE);
    } else {
      for (int i = 0; i < WINDOW; i++) {
        if (values[i] != window * WINDOW + i) MPI_Abort(MPI_COMM_WORLD, 1);
      }
      MPI_Send(&word, 0, MPI_BYTE, 0, s->tag + 1, s->comm);
    }
  }
  return NULL;
}

static void measure(const char *name, int threads, int own_comm) {
  for (int batch = 0; batch < BATCHES; batch++) {
    stream streams[THREADS];
    pthread_t others[THREADS];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < threads; i++) {
      streams[i] = (stream){own_comm ? comms[i] : MPI_COMM_WORLD, own_comm ? 0 : 2 * i};
      if (i > 0) pthread_create(&others[i], NULL, windows, &streams[i]);
    }
    windows(&streams[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    double elapsed = MPI_Wtime() - start;
    if (rank == 0 && batch && name) sample(name, 8, elapsed * 1e9 / ((double)WINDOW * WINDOWS * threads));
  }
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  measure(NULL, THREADS, 1); // Warms up stacks and heaps of threads.
  measure("rate-1-thread", 1, 0);
  measure("rate-4-threads-tags", THREADS, 0);
  measure("rate-4-threads-comms", THREADS, 1);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
