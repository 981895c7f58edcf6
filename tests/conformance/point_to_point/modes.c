// Every mode of sending, blocking and not, with messages of all protocols; statuses; MPI_PROC_NULL.
// weft-test: buffers=yes
#include "../check.h"

enum { LENGTHS = 7 };
static const int lengths[LENGTHS] = {0, 1, 10, 11, 200, 2000, 300000};

static int *numbers(int length, int seed) {
  int *data = malloc((length + 1) * sizeof(int));
  for (int i = 0; i < length; i++)
    data[i] = seed * 1000003 + i;
  return data;
}

static void check_numbers(const int *data, int length, int seed) {
  int wrong = 0;
  for (int i = 0; i < length; i++)
    wrong += data[i] != seed * 1000003 + i;
  CHECK_EQUAL(wrong, 0);
}

static void send_mode(int mode, const int *data, int length, int dest, int tag, MPI_Comm comm) {
  MPI_Request request;
  MPI_Status status;
  switch (mode) {
  case 0: CHECK_OK(MPI_Send(data, length, MPI_INT, dest, tag, comm)); return;
  case 1: CHECK_OK(MPI_Ssend(data, length, MPI_INT, dest, tag, comm)); return;
  case 2: CHECK_OK(MPI_Bsend(data, length, MPI_INT, dest, tag, comm)); return;
  case 3: CHECK_OK(MPI_Rsend(data, length, MPI_INT, dest, tag, comm)); return;
  case 4: CHECK_OK(MPI_Isend(data, length, MPI_INT, dest, tag, comm, &request)); break;
  case 5: CHECK_OK(MPI_Issend(data, length, MPI_INT, dest, tag, comm, &request)); break;
  case 6: CHECK_OK(MPI_Ibsend(data, length, MPI_INT, dest, tag, comm, &request)); break;
  case 7: CHECK_OK(MPI_Irsend(data, length, MPI_INT, dest, tag, comm, &request)); break;
  case 8: CHECK_OK(MPI_Send_c(data, length, MPI_INT, dest, tag, comm)); return;
  }
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
}

int main(int argc, char **argv) {
  int rank, size;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int space = 4 * (300000 * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc(space);
  CHECK_OK(MPI_Buffer_attach(buffer, space));

  // Pairs (0, 1), (2, 3), …; the last one of an odd job talks to nobody.
  int other = rank ^ 1;
  if (other >= size)
    other = MPI_PROC_NULL;
  for (int mode = 0; mode <= 8; mode++) {
    for (int l = 0; l < LENGTHS; l++) {
      int length = lengths[l], tag = mode * 100 + l, count = -1;
      MPI_Status status;
      status.MPI_ERROR = 4711;
      if (rank % 2 == 0) {
        int *data = numbers(length, rank);
        if (mode == 3 || mode == 7) // Ready mode: wait until the receive is posted.
          CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        send_mode(mode, data, length, other, tag, MPI_COMM_WORLD);
        free(data);
      } else {
        int *data = numbers(length, -1);
        if (mode == 3 || mode == 7) {
          MPI_Request request;
          CHECK_OK(MPI_Irecv(data, length, MPI_INT, other, tag, MPI_COMM_WORLD, &request));
          CHECK_OK(MPI_Send(NULL, 0, MPI_INT, other, 1, MPI_COMM_WORLD));
          CHECK_OK(MPI_Wait(&request, &status));
        } else if (mode == 8) {
          CHECK_OK(MPI_Recv_c(data, length, MPI_INT, other, tag, MPI_COMM_WORLD, &status));
        } else {
          CHECK_OK(MPI_Recv(data, length, MPI_INT, l % 2 ? MPI_ANY_SOURCE : other, l % 3 ? tag : MPI_ANY_TAG,
                            MPI_COMM_WORLD, &status));
        }
        CHECK_EQUAL(status.MPI_SOURCE, other);
        CHECK_EQUAL(status.MPI_TAG, tag);
        CHECK_EQUAL(status.MPI_ERROR, 4711); // Calls that complete one operation leave it alone.
        int value = -1;
        CHECK_OK(MPI_Status_get_source(&status, &value));
        CHECK_EQUAL(value, other);
        CHECK_OK(MPI_Status_get_tag(&status, &value));
        CHECK_EQUAL(value, tag);
        CHECK_OK(MPI_Status_get_error(&status, &value));
        CHECK_EQUAL(value, 4711);
        CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK_EQUAL(count, length);
        check_numbers(data, length, other);
        free(data);
      }
    }
  }
  void *detached = NULL;
  int detached_size = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &detached_size));
  CHECK(detached == buffer);
  CHECK_EQUAL(detached_size, space);
  free(buffer);

  // MPI_PROC_NULL: everything succeeds at once and the status says so.
  MPI_Status status;
  MPI_Request request;
  int value = 7, count = -1;
  CHECK_OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQUAL(count, 0);
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  CHECK_OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, 7);

  // A message to oneself: short ones may be sent first, any may be received by a nonblocking receive.
  int *out = numbers(100000, rank), *in = numbers(100000, -1);
  CHECK_OK(MPI_Send(out, 10, MPI_INT, rank, 5, MPI_COMM_WORLD));
  CHECK_OK(MPI_Recv(in, 10, MPI_INT, rank, 5, MPI_COMM_WORLD, &status));
  check_numbers(in, 10, rank);
  CHECK_OK(MPI_Isend(out, 100000, MPI_INT, 0, 6, MPI_COMM_SELF, &request));
  CHECK_OK(MPI_Recv(in, 100000, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_SELF, &status));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_numbers(in, 100000, rank);
  CHECK_EQUAL(status.MPI_SOURCE, 0);
  free(out);
  free(in);
  return check_end();
}
