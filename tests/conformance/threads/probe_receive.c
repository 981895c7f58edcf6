// Matched probes from several threads at once: every message is received exactly once, whoever sees it first.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, MESSAGES = 120, MOST = 64 };
static int size, seen[MOST][MESSAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *nothing) {
  (void)nothing;
  for (int i = 0; i < MESSAGES / THREADS; i++) {
    MPI_Message message;
    MPI_Status status;
    int value[2] = {-1, -1}, count = -1;
    CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 2);
    CHECK_OK(MPI_Mrecv(value, 2, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    CHECK(value[0] == status.MPI_SOURCE && value[1] >= 0 && value[1] < MESSAGES);
    pthread_mutex_lock(&lock);
    if (value[0] >= 0 && value[0] < MOST && value[1] >= 0 && value[1] < MESSAGES) seen[value[0]][value[1]]++;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, NULL);
  // Message i of a rank goes to the rank i places further: every rank gets MESSAGES in all.
  for (int i = 0; i < MESSAGES; i++) {
    int value[2] = {check_rank, i};
    CHECK_OK(MPI_Send(value, 2, MPI_INT, (check_rank + i) % size, 1, MPI_COMM_WORLD));
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int source = 0; source < size; source++)
    for (int i = 0; i < MESSAGES; i++) CHECK_EQUAL(seen[source][i], (source + i) % size == check_rank);
  return check_end();
}
