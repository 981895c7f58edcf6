// Threads complete generalized requests while the rank waits for them in every way, and while their callbacks talk
// MPI: each waiter wakes up, each request ends once.
// weft-test: buffers=yes
#include "../check.h"
#include <pthread.h>

enum { COUNT = 12, ROUNDS = 8 };

typedef struct {
  MPI_Request request;
  int *frees;
  int index, value;
} Job;

static int rank, size;
static MPI_Comm duplicate;

static int query_fn(void *extra_state, MPI_Status *status) {
  Job *job = extra_state;
  MPI_Status_set_elements(status, MPI_INT, job->value);
  MPI_Status_set_cancelled(status, 0);
  MPI_Status_set_source(status, job->index);
  MPI_Status_set_tag(status, 100 + job->index);
  return MPI_SUCCESS;
}
static int free_fn(void *extra_state) {
  Job *job = extra_state;
  int sent = job->index, got = -1;
  ++*job->frees;
  // Callbacks may communicate: here with this rank itself.
  CHECK_OK(MPI_Sendrecv(&sent, 1, MPI_INT, 0, sent, &got, 1, MPI_INT, 0, sent, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_EQUAL(got, sent);
  return MPI_SUCCESS;
}
static int cancel_fn(void *extra_state, int complete) {
  (void)extra_state, (void)complete;
  return MPI_SUCCESS;
}

// Passes a word around the ring of all ranks, then says that its request is complete.
static void *work(void *argument) {
  Job *job = argument;
  int token = job->index;
  if (rank == 0)
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, job->index, duplicate));
  CHECK_OK(MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, job->index, duplicate, MPI_STATUS_IGNORE));
  if (rank)
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, job->index, duplicate));
  job->value = token + 1;
  CHECK_OK(MPI_Grequest_complete(job->request));
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_rank = rank;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  for (int round = 0; round < ROUNDS; round++) {
    Job jobs[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT], status;
    pthread_t threads[COUNT];
    int frees[COUNT] = {0}, indices[COUNT], count = 0, flag, index, seen = 0;
    for (int i = 0; i < COUNT; i++) {
      jobs[i] = (Job){MPI_REQUEST_NULL, &frees[i], i, -1};
      CHECK_OK(MPI_Grequest_start(query_fn, free_fn, cancel_fn, &jobs[i], &jobs[i].request));
      requests[i] = jobs[i].request;
    }
    for (int i = 0; i < COUNT; i++)
      pthread_create(&threads[i], NULL, work, &jobs[i]);
    for (int done = 0; done < COUNT;) {
      switch (round % 8) {
      case 0: // One after the other.
        CHECK_OK(MPI_Wait(&requests[done], &statuses[done]));
        indices[0] = done, count = 1;
        break;
      case 1:
        CHECK_OK(MPI_Waitall(COUNT, requests, statuses));
        for (int i = 0; i < COUNT; i++)
          indices[i] = i;
        count = COUNT;
        break;
      case 2:
      case 3:
        if (round % 8 == 2)
          CHECK_OK(MPI_Waitany(COUNT, requests, &index, &status));
        else
          for (flag = 0; !flag;)
            CHECK_OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
        indices[0] = index, statuses[index] = status, count = 1;
        break;
      case 4:
      case 5: {
        MPI_Status some[COUNT];
        if (round % 8 == 4)
          CHECK_OK(MPI_Waitsome(COUNT, requests, &count, indices, some));
        else
          for (count = 0; !count;)
            CHECK_OK(MPI_Testsome(COUNT, requests, &count, indices, some));
        for (int i = 0; i < count; i++)
          statuses[indices[i]] = some[i];
        break;
      }
      case 6:
        for (flag = 0; !flag;)
          CHECK_OK(MPI_Test(&requests[done], &flag, &statuses[done]));
        indices[0] = done, count = 1;
        break;
      default: // Freed by the rank, completed by the thread, in either order.
        for (int i = 0; i < COUNT; i++)
          CHECK_OK(MPI_Request_free(&requests[i]));
        for (int i = 0; i < COUNT; i++)
          pthread_join(threads[i], NULL);
        count = COUNT;
      }
      done += count;
      for (int i = 0; i < count && round % 8 != 7; i++) {
        int elements = -1, at = indices[i];
        CHECK(!(seen >> at & 1));
        seen |= 1 << at;
        CHECK(requests[at] == MPI_REQUEST_NULL);
        CHECK_EQUAL(statuses[at].MPI_SOURCE, at);
        CHECK_EQUAL(statuses[at].MPI_TAG, 100 + at);
        CHECK_OK(MPI_Get_elements(&statuses[at], MPI_INT, &elements));
        CHECK_EQUAL(elements, at + 1);
      }
    }
    for (int i = 0; i < COUNT; i++) {
      if (round % 8 != 7)
        pthread_join(threads[i], NULL);
      CHECK_EQUAL(frees[i], 1);
    }
  }
  MPI_Comm_free(&duplicate);
  return check_end();
}
