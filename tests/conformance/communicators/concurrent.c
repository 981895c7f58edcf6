// Communicators created by several threads of every rank at once, told apart by tags, strings or communicators.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20 };
static MPI_Group members;
static MPI_Comm own[THREADS];
static int size;

static void use(MPI_Comm comm, int salt) {
  int sum = 0, mine = check_rank + salt;
  CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, size * (size - 1) / 2 + size * salt);
}

static void *work(void *argument) {
  int thread = (int)(MPI_Aint)argument;
  for (int round = 0; round < ROUNDS; round++) {
    char tag[32];
    MPI_Comm comm, other, inter;
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, members, thread, &comm));
    use(comm, thread);
    snprintf(tag, sizeof tag, "thread %d", thread);
    CHECK_OK(MPI_Comm_create_from_group(members, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    use(other, 2 * thread);
    MPI_Request request;
    MPI_Comm duplicate;
    CHECK_OK(MPI_Comm_idup(own[thread], &duplicate, &request));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use(duplicate, 3 * thread);
    CHECK_OK(MPI_Comm_free(&duplicate));
    CHECK_OK(MPI_Comm_free(&other));
    // Rank 0 and one other, through MPI_COMM_WORLD as the peer communicator, with a tag per thread.
    if (size > 1 && (check_rank == 0 || check_rank == 1)) {
      CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
      CHECK_OK(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, !check_rank, thread, &inter));
      int got = -1, mine = 100 * thread + round;
      CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE));
      CHECK_EQUAL(got, mine);
      CHECK_OK(MPI_Comm_free(&inter));
      CHECK_OK(MPI_Comm_free(&comm));
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
  MPI_Comm_group(MPI_COMM_WORLD, &members);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]));
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(MPI_Aint)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) MPI_Comm_free(&own[i]);
  MPI_Group_free(&members);
  return check_end();
}
