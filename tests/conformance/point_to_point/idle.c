// Null and inactive requests in every completing and inquiring procedure: no waiting, empty statuses, nothing changed;
// lists without entries; ignored statuses; the error field.
#include "../check.h"

enum { N = 4 };
static MPI_Request requests[N], before[N];
static MPI_Status status, statuses[N];

static void spoil(void) {
  memset(&status, 0x55, sizeof(status));
  memset(statuses, 0x55, sizeof(statuses));
}

static void check_empty(const MPI_Status *status) {
  int count = -1, flag = -1;
  CHECK_EQUAL(status->MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQUAL(status->MPI_TAG, MPI_ANY_TAG);
  CHECK_EQUAL(status->MPI_ERROR, MPI_SUCCESS);
  CHECK_OK(MPI_Get_count(status, MPI_INT, &count));
  CHECK_EQUAL(count, 0);
  CHECK_OK(MPI_Get_elements(status, MPI_DOUBLE, &count));
  CHECK_EQUAL(count, 0);
  CHECK_OK(MPI_Test_cancelled(status, &flag));
  CHECK_EQUAL(flag, 0);
}

// All procedures with a list of `n` requests, none of which is active.
static void complete(int n) {
  int index, flag, count, indices[N];
  MPI_Request *list = n ? requests : NULL;
  int *places = n ? indices : NULL;
  MPI_Status *array = n ? statuses : NULL;
  memcpy(before, requests, sizeof(before));
  spoil();
  CHECK_OK(MPI_Waitall(n, list, array));
  for (int i = 0; i < n; i++)
    check_empty(&statuses[i]);
  spoil();
  flag = 0;
  CHECK_OK(MPI_Testall(n, list, &flag, array));
  CHECK_EQUAL(flag, 1);
  for (int i = 0; i < n; i++)
    check_empty(&statuses[i]);
  spoil();
  flag = 0;
  CHECK_OK(MPI_Request_get_status_all(n, list, &flag, array));
  CHECK_EQUAL(flag, 1);
  for (int i = 0; i < n; i++)
    check_empty(&statuses[i]);
  spoil();
  index = 0;
  CHECK_OK(MPI_Waitany(n, list, &index, &status));
  CHECK_EQUAL(index, MPI_UNDEFINED);
  check_empty(&status);
  spoil();
  index = flag = 0;
  CHECK_OK(MPI_Testany(n, list, &index, &flag, &status));
  CHECK(index == MPI_UNDEFINED && flag == 1);
  check_empty(&status);
  spoil();
  index = flag = 0;
  CHECK_OK(MPI_Request_get_status_any(n, list, &index, &flag, &status));
  CHECK(index == MPI_UNDEFINED && flag == 1);
  check_empty(&status);
  count = 0;
  CHECK_OK(MPI_Waitsome(n, list, &count, places, array));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  count = 0;
  CHECK_OK(MPI_Testsome(n, list, &count, places, array));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  count = 0;
  CHECK_OK(MPI_Request_get_status_some(n, list, &count, places, array));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  for (int i = 0; i < n; i++) {
    spoil();
    CHECK_OK(MPI_Wait(&requests[i], &status));
    check_empty(&status);
    spoil();
    flag = 0;
    CHECK_OK(MPI_Test(&requests[i], &flag, &status));
    CHECK_EQUAL(flag, 1);
    check_empty(&status);
    spoil();
    flag = 0;
    CHECK_OK(MPI_Request_get_status(requests[i], &flag, &status));
    CHECK_EQUAL(flag, 1);
    check_empty(&status);
    CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Waitall(n, list, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Testall(n, list, &flag, MPI_STATUSES_IGNORE));
  CHECK_OK(MPI_Waitany(n, list, &index, MPI_STATUS_IGNORE));
  CHECK(memcmp(before, requests, sizeof(before)) == 0);
}

int main(int argc, char **argv) {
  int rank, flag, count, index, indices[N], in[N] = {0}, out = 5;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < N; i++)
    requests[i] = MPI_REQUEST_NULL;
  complete(0);
  complete(1);
  complete(N);
  // Inactive: never started, and started and completed before.
  CHECK_OK(MPI_Recv_init(&in[0], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Send_init(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Precv_init(&in[1], 1, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]));
  complete(N);
  CHECK_OK(MPI_Startall(2, requests));
  CHECK_OK(MPI_Waitall(N, requests, statuses));
  CHECK_EQUAL(in[0], 5);
  complete(N);

  // One active among them is what counts; the others are empty or left out.
  for (int way = 0; way < 9; way++) {
    in[0] = -1;
    CHECK_OK(MPI_Start(&requests[0]));
    if (way == 3) // Not there yet.
      CHECK_OK(MPI_Testany(N, requests, &index, &flag, &status));
    else if (way == 5)
      CHECK_OK(MPI_Testsome(N, requests, &count, indices, statuses));
    else if (way == 6)
      CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    else if (way == 7)
      CHECK_OK(MPI_Request_get_status_any(N, requests, &index, &flag, &status));
    if (way == 3 || way == 7)
      CHECK(flag == 0 && index == MPI_UNDEFINED);
    if (way == 5 || way == 6)
      CHECK_EQUAL(count, 0);
    CHECK_OK(MPI_Send(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    spoil();
    index = 0, count = 1, flag = 1;
    switch (way) {
    case 0: CHECK_OK(MPI_Waitall(N, requests, statuses)); break;
    case 1: CHECK_OK(MPI_Testall(N, requests, &flag, statuses)); break;
    case 2: CHECK_OK(MPI_Waitany(N, requests, &index, &statuses[0])); break;
    case 3: CHECK_OK(MPI_Testany(N, requests, &index, &flag, &statuses[0])); break;
    case 4: CHECK_OK(MPI_Waitsome(N, requests, &count, indices, statuses)); break;
    case 5: CHECK_OK(MPI_Testsome(N, requests, &count, indices, statuses)); break;
    case 6: CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, statuses)); break;
    case 7: CHECK_OK(MPI_Request_get_status_any(N, requests, &index, &flag, &statuses[0])); break;
    default: CHECK_OK(MPI_Request_get_status_all(N, requests, &flag, statuses));
    }
    CHECK(index == 0 && count == 1 && flag == 1 && in[0] == 5);
    if (way >= 4 && way <= 6)
      CHECK_EQUAL(indices[0], 0);
    CHECK_EQUAL(statuses[0].MPI_SOURCE, rank);
    CHECK_EQUAL(statuses[0].MPI_ERROR, 0x55555555); // Success leaves it alone.
    if (way < 2 || way == 8)
      for (int i = 1; i < N; i++)
        check_empty(&statuses[i]);
    CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < N; i++)
    if (requests[i] != MPI_REQUEST_NULL)
      CHECK_OK(MPI_Request_free(&requests[i]));

  // An error in a list: all statuses say how they ended, also those of null and inactive requests.
  const int two[2] = {0, 0};
  for (int way = 0; way < 4; way++) {
    CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[0]));
    requests[1] = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Recv_init(&in[2], 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &requests[2]));
    CHECK_OK(MPI_Start(&requests[2]));
    CHECK_OK(MPI_Irecv(&in[3], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[3]));
    CHECK_OK(MPI_Send(&out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(two, 2, MPI_INT, rank, 2, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(&out, 1, MPI_INT, rank, 3, MPI_COMM_WORLD));
    spoil();
    flag = 1, count = N;
    for (int i = 0; i < N; i++)
      indices[i] = i;
    if (way == 0)
      CHECK_CLASS(MPI_Waitall(N, requests, statuses), MPI_ERR_IN_STATUS);
    else if (way == 1)
      CHECK_CLASS(MPI_Testall(N, requests, &flag, statuses), MPI_ERR_IN_STATUS);
    else if (way == 2)
      CHECK_CLASS(MPI_Waitsome(N, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    else
      CHECK_CLASS(MPI_Testsome(N, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK(flag == 1 && count == (way < 2 ? N : 3));
    for (int i = 0; i < count; i++)
      CHECK_EQUAL(statuses[i].MPI_ERROR, indices[i] == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[3] == MPI_REQUEST_NULL && requests[2] != MPI_REQUEST_NULL);
    CHECK_OK(MPI_Request_free(&requests[2]));
  }
  // Arguments that are wrong fail for their own reason and complete nothing.
  CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Send(&out, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
  memset(&requests[1], 0x77, sizeof(requests[1]));
  spoil();
  CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Testall(2, requests, &flag, statuses), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Waitsome(2, requests, &count, indices, statuses), MPI_ERR_REQUEST);
  CHECK_EQUAL(statuses[0].MPI_ERROR, 0x55555555);
  CHECK(requests[0] != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  return check_end();
}
