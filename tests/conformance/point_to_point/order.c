// Messages of a pair on a communicator never overtake each other, whatever their lengths, modes and receives.
// weft-test: buffers=yes
#include "../check.h"

enum { MESSAGES = 400 };

int main(int argc, char **argv) {
  int rank, size;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm copy;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  static int data[3000];
  if (rank > 0) {
    for (int i = 0; i < MESSAGES; i++) {
      int length = 1 + (i * 7 % 5 == 0 ? 2500 : i % 11);
      data[0] = i;
      if (i % 13 == 0)
        CHECK_OK(MPI_Ssend(data, length, MPI_INT, 0, i % 2, MPI_COMM_WORLD));
      else
        CHECK_OK(MPI_Send(data, length, MPI_INT, 0, i % 2, MPI_COMM_WORLD));
      if (i % 50 == 0) // Another communicator does not disturb.
        CHECK_OK(MPI_Send(&i, 1, MPI_INT, 0, 0, copy));
    }
  } else {
    int *next = calloc(size, sizeof(int));
    for (int i = 0; i < MESSAGES * (size - 1); i++) {
      MPI_Status status;
      if (i % 3 == 0) {
        MPI_Request request;
        CHECK_OK(MPI_Irecv(data, 3000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Wait(&request, &status));
      } else {
        CHECK_OK(MPI_Recv(data, 3000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      }
      int expected = next[status.MPI_SOURCE]++, count;
      CHECK_EQUAL(data[0], expected);
      CHECK_EQUAL(status.MPI_TAG, expected % 2);
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK_EQUAL(count, 1 + (expected * 7 % 5 == 0 ? 2500 : expected % 11));
    }
    for (int source = 1; source < size; source++)
      for (int i = 0; i < MESSAGES; i += 50) {
        int value = -1;
        CHECK_OK(MPI_Recv(&value, 1, MPI_INT, source, 0, copy, MPI_STATUS_IGNORE));
        CHECK_EQUAL(value, i);
      }
    free(next);
  }
  MPI_Barrier(MPI_COMM_WORLD); // What follows must not meet the wildcards above.
  // Tags select: received in the opposite order of sending.
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request requests[40];
  int values[40];
  for (int i = 0; i < 40; i++) {
    values[i] = 100 * rank + i;
    CHECK_OK(MPI_Isend(&values[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 39; i >= 0; i--) {
    int value = -1;
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_EQUAL(value, 100 * left + i);
  }
  CHECK_OK(MPI_Waitall(40, requests, MPI_STATUSES_IGNORE));
  MPI_Comm_free(&copy);
  return check_end();
}
