// Exchanges that would deadlock as blocking calls, in place and not; datatypes that differ in layout.
#include "../check.h"

enum { LENGTH = 40000 };
static int out[LENGTH], in[LENGTH];

int main(int argc, char **argv) {
  int rank, size, count;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Status status;
  MPI_Request request;
  for (int length = 1; length <= LENGTH; length *= 200) {
    for (int i = 0; i < length; i++)
      out[i] = rank * LENGTH + i, in[i] = -1;
    CHECK_OK(MPI_Sendrecv(out, length, MPI_INT, right, 1, in, LENGTH, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                          &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 1);
    CHECK_EQUAL(count, length);
    CHECK(in[0] == left * LENGTH && in[length - 1] == left * LENGTH + length - 1);
    CHECK_OK(MPI_Sendrecv_replace(out, length, MPI_INT, right, 2, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
    CHECK(out[0] == left * LENGTH && out[length - 1] == left * LENGTH + length - 1);
    CHECK_EQUAL(status.MPI_SOURCE, left);
    // Back again, by the nonblocking forms.
    CHECK_OK(MPI_Isendrecv_replace(out, length, MPI_INT, left, 3, right, 3, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_EQUAL(status.MPI_SOURCE, right);
    CHECK(out[0] == rank * LENGTH && out[length - 1] == rank * LENGTH + length - 1);
    in[0] = -1;
    CHECK_OK(MPI_Isendrecv(out, length, MPI_INT, right, 4, in, LENGTH, MPI_INT, left, 4, MPI_COMM_WORLD, &request));
    int flag = 0;
    while (!flag)
      CHECK_OK(MPI_Test(&request, &flag, &status));
    CHECK(request == MPI_REQUEST_NULL && in[0] == left * LENGTH);
  }
  // Ends of a chain.
  int down = rank ? rank - 1 : MPI_PROC_NULL, up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  in[0] = -5;
  out[0] = rank;
  CHECK_OK(MPI_Sendrecv(out, 1, MPI_INT, up, 5, in, 1, MPI_INT, down, 5, MPI_COMM_WORLD, &status));
  CHECK_EQUAL(in[0], rank ? rank - 1 : -5);
  CHECK_EQUAL(status.MPI_SOURCE, down);
  in[0] = -5;
  CHECK_OK(MPI_Isendrecv(out, 1, MPI_INT, up, 5, in, 1, MPI_INT, down, 5, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(in[0], rank ? rank - 1 : -5);
  in[0] = rank;
  CHECK_OK(MPI_Isendrecv_replace(in, 1, MPI_INT, up, 5, down, 5, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(in[0], rank ? rank - 1 : rank);
  in[0] = rank;
  CHECK_OK(MPI_Sendrecv_replace(in, 1, MPI_INT, up, 5, down, 5, MPI_COMM_WORLD, &status));
  CHECK_EQUAL(in[0], rank ? rank - 1 : rank);

  // Every second number to consecutive ones and back, short and long.
  for (int n = 4; n <= LENGTH / 2; n *= 20) {
    MPI_Datatype every_second;
    CHECK_OK(MPI_Type_vector(n, 1, 2, MPI_INT, &every_second));
    CHECK_CLASS(MPI_Send(out, 1, every_second, right, 6, MPI_COMM_WORLD), MPI_ERR_TYPE); // Not committed.
    CHECK_OK(MPI_Type_commit(&every_second));
    for (int i = 0; i < LENGTH; i++)
      out[i] = rank * LENGTH + i, in[i] = -1;
    CHECK_OK(MPI_Sendrecv(out, 1, every_second, right, 6, in, n, MPI_INT, left, 6, MPI_COMM_WORLD, &status));
    CHECK(in[1] == left * LENGTH + 2 && in[n - 1] == left * LENGTH + 2 * (n - 1) && in[n] == -1);
    memset(in, -1, sizeof(in));
    CHECK_OK(MPI_Sendrecv(out, n, MPI_INT, right, 7, in, 1, every_second, left, 7, MPI_COMM_WORLD, &status));
    CHECK(in[0] == left * LENGTH && in[1] == -1 && in[2 * (n - 1)] == left * LENGTH + n - 1);
    memset(in, -1, sizeof(in));
    // The type may be freed while a receive is pending.
    CHECK_OK(MPI_Irecv(in, 1, every_second, left, 8, MPI_COMM_WORLD, &request));
    MPI_Request send;
    CHECK_OK(MPI_Issend(out, 1, every_second, right, 8, MPI_COMM_WORLD, &send));
    CHECK_OK(MPI_Type_free(&every_second));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(in[0] == left * LENGTH && in[1] == -1 && in[2 * (n - 1)] == left * LENGTH + 2 * (n - 1));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, n);
  }
  return check_end();
}
