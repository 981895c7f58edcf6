// The wait and test families, status inquiries without completion, free and cancel.
// weft-test: buffers=yes
#include "../check.h"

enum { COUNT = 12 };

static int left, right, rank, size;
static MPI_Request requests[COUNT + 1];


static int length_of(int i) { return i % 4 == 3 ? 50000 : 1; }
static int *big_in[COUNT], *big_out[COUNT];

// Posts COUNT receives from the left and returns; a null request is among them.
static void post(void) {
  for (int i = 0; i < COUNT; i++) {
    memset(big_in[i], 0, length_of(i) * sizeof(int));
    CHECK_OK(MPI_Irecv(big_in[i], length_of(i), MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
  }
  requests[COUNT] = MPI_REQUEST_NULL;
}

static MPI_Request sends[COUNT];
static void feed(void) {
  for (int i = 0; i < COUNT; i++) {
    big_out[i][0] = 1000 * rank + i;
    CHECK_OK(MPI_Isend(big_out[i], length_of(i), MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]));
  }
}

static void settle(void) {
  CHECK_OK(MPI_Waitall(COUNT, sends, MPI_STATUSES_IGNORE));
  for (int i = 0; i < COUNT; i++) {
    CHECK(requests[i] == MPI_REQUEST_NULL && sends[i] == MPI_REQUEST_NULL);
    CHECK_EQUAL(big_in[i][0], 1000 * left + i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_status(const MPI_Status *status, int index) {
  int count = -1;
  CHECK_EQUAL(status->MPI_SOURCE, left);
  CHECK_EQUAL(status->MPI_TAG, index);
  MPI_Get_count(status, MPI_INT, &count);
  CHECK_EQUAL(count, length_of(index));
}

static void check_empty(const MPI_Status *status) {
  int count = -1, cancelled = -1;
  CHECK_EQUAL(status->MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQUAL(status->MPI_TAG, MPI_ANY_TAG);
  MPI_Get_count(status, MPI_INT, &count);
  CHECK_EQUAL(count, 0);
  MPI_Test_cancelled(status, &cancelled);
  CHECK_EQUAL(cancelled, 0);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  for (int i = 0; i < COUNT; i++) {
    big_in[i] = calloc(length_of(i), sizeof(int));
    big_out[i] = calloc(length_of(i), sizeof(int));
  }
  MPI_Status statuses[COUNT + 1], status;
  int index, flag, count, indices[COUNT + 1];

  post(), feed();
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(MPI_Wait(&requests[i], &status));
    check_status(&status, i);
  }
  settle();

  post(), feed();
  for (int i = 0; i < COUNT; i++) {
    flag = 0;
    while (!flag)
      CHECK_OK(MPI_Test(&requests[i], &flag, &status));
    check_status(&status, i);
  }
  settle();

  post(), feed();
  CHECK_OK(MPI_Waitall(COUNT + 1, requests, statuses));
  for (int i = 0; i < COUNT; i++)
    check_status(&statuses[i], i);
  check_empty(&statuses[COUNT]);
  settle();

  post();
  CHECK_OK(MPI_Testall(COUNT + 1, requests, &flag, statuses));
  {
    CHECK_EQUAL(flag, 0);
    CHECK(requests[0] != MPI_REQUEST_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  feed();
  flag = 0;
  while (!flag)
    CHECK_OK(MPI_Testall(COUNT + 1, requests, &flag, statuses));
  for (int i = 0; i < COUNT; i++)
    check_status(&statuses[i], i);
  settle();

  post(), feed();
  for (int done = 0; done < COUNT; done++) {
    CHECK_OK(MPI_Waitany(COUNT + 1, requests, &index, &status));
    CHECK(index >= 0 && index < COUNT);
    check_status(&status, index);
  }
  CHECK_OK(MPI_Waitany(COUNT + 1, requests, &index, &status));
  CHECK_EQUAL(index, MPI_UNDEFINED);
  check_empty(&status);
  settle();

  post(), feed();
  for (int done = 0; done < COUNT;) {
    CHECK_OK(MPI_Testany(COUNT + 1, requests, &index, &flag, &status));
    if (flag) {
      check_status(&status, index);
      done++;
    } else {
      CHECK_EQUAL(index, MPI_UNDEFINED);
    }
  }
  CHECK_OK(MPI_Testany(COUNT + 1, requests, &index, &flag, &status));
  CHECK(flag && index == MPI_UNDEFINED);
  check_empty(&status);
  settle();

  for (int test = 0; test < 2; test++) {
    post(), feed();
    for (int done = 0; done < COUNT; done += count) {
      if (test)
        CHECK_OK(MPI_Testsome(COUNT + 1, requests, &count, indices, statuses));
      else
        CHECK_OK(MPI_Waitsome(COUNT + 1, requests, &count, indices, statuses));
      CHECK(test ? count >= 0 : count > 0);
      for (int i = 0; i < count; i++)
        check_status(&statuses[i], indices[i]);
    }
    if (test)
      CHECK_OK(MPI_Testsome(COUNT + 1, requests, &count, indices, statuses));
    else
      CHECK_OK(MPI_Waitsome(COUNT + 1, requests, &count, indices, statuses));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    settle();
  }

  // Inquiries leave the requests there.
  post(), feed();
  flag = 0;
  while (!flag)
    CHECK_OK(MPI_Request_get_status(requests[3], &flag, &status));
  check_status(&status, 3);
  CHECK(requests[3] != MPI_REQUEST_NULL);
  flag = 0;
  while (!flag)
    CHECK_OK(MPI_Request_get_status_any(COUNT + 1, requests, &index, &flag, &status));
  check_status(&status, index);
  flag = 0;
  while (!flag)
    CHECK_OK(MPI_Request_get_status_all(COUNT + 1, requests, &flag, statuses));
  for (int i = 0; i < COUNT; i++)
    check_status(&statuses[i], i);
  CHECK_OK(MPI_Request_get_status_some(COUNT + 1, requests, &count, indices, statuses));
  CHECK_EQUAL(count, COUNT);
  for (int i = 0; i < COUNT; i++)
    check_status(&statuses[i], indices[i]);
  CHECK_OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
  CHECK_EQUAL(flag, 1);
  check_empty(&status);
  settle();

  // A freed request goes on; a cancelled receive ends as cancelled and takes no message.
  MPI_Request request;
  int value = rank, got = -1;
  CHECK_OK(MPI_Isend(big_out[3], length_of(3), MPI_INT, right, 77, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_OK(MPI_Recv(big_in[3], length_of(3), MPI_INT, left, 77, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, left, 78, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQUAL(flag, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Send(&value, 1, MPI_INT, right, 78, MPI_COMM_WORLD));
  CHECK_OK(MPI_Recv(&got, 1, MPI_INT, left, 78, MPI_COMM_WORLD, &status));
  CHECK_EQUAL(got, left);
  // A send that nobody receives can be waited for after a cancel.
  CHECK_OK(MPI_Issend(&value, 1, MPI_INT, right, 79, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQUAL(flag, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Iprobe(left, 79, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQUAL(flag, 0);
  return check_end();
}
