// Messages that answer each other, of all lengths, awaited or not: whole, in order, and into any layout.
#include "../check.h"

enum { MOST = 1000001 };
static unsigned char out[MOST], in[2 * MOST];

static void fill(int length, int seed) {
  for (int i = 0; i < length; i++)
    out[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

static int holds(const unsigned char *bytes, int stride, int length, int seed) {
  for (int i = 0; i < length; i++)
    if (bytes[(long)i * stride] != (unsigned char)(i * 7 + i / 251 + seed))
      return 0;
  return 1;
}

int main(int argc, char **argv) {
  static const int lengths[] = {1, 129, 1000, 4097, 65536, 65537, 200000, 524288, 524289, MOST};
  int rank, size, count, code;
  MPI_Status status;
  MPI_Request request;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int other = rank ^ 1, asks = rank % 2 == 0;
  if (other >= size)
    other = MPI_PROC_NULL;
  for (int i = 0; i < (int)(sizeof(lengths) / sizeof(*lengths)) && other != MPI_PROC_NULL; i++) {
    int length = lengths[i];
    // Both are waited for.
    for (int turn = 0; turn < 4; turn++) {
      fill(length, turn);
      if (asks)
        CHECK_OK(MPI_Send(out, length, MPI_BYTE, other, 1, MPI_COMM_WORLD));
      memset(in, 0, length);
      CHECK_OK(MPI_Recv(in, MOST, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status));
      MPI_Get_count(&status, MPI_BYTE, &count);
      CHECK(count == length && holds(in, 1, length, turn));
      if (!asks)
        CHECK_OK(MPI_Send(out, length, MPI_BYTE, other, 1, MPI_COMM_WORLD));
    }
    // Nobody waits for the answer: a message that was sent before it is received first. Then it is found by a probe, goes
    // into every second byte, or does not fit.
    for (int way = 0; way < 3; way++) {
      fill(length, way);
      if (asks) {
        CHECK_OK(MPI_Send(out, length, MPI_BYTE, other, 2, MPI_COMM_WORLD));
        CHECK_OK(MPI_Recv(&code, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQUAL(code, length);
        memset(in, 0, 2 * length);
        CHECK_OK(MPI_Probe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == length && status.MPI_TAG == 4);
        if (way == 0) {
          CHECK_OK(MPI_Recv(in, MOST, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          CHECK(holds(in, 1, length, way));
        } else if (way == 1) {
          MPI_Datatype second;
          CHECK_OK(MPI_Type_create_resized(MPI_BYTE, 0, 2, &second));
          CHECK_OK(MPI_Type_commit(&second));
          CHECK_OK(MPI_Recv(in, MOST, second, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          CHECK(holds(in, 2, length, way) && in[1] == 0 && in[2 * length - 1] == 0);
          CHECK_OK(MPI_Type_free(&second));
        } else {
          MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
          CHECK_CLASS(MPI_Recv(in, length - 1, MPI_BYTE, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
          MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
          CHECK_EQUAL(in[length - 1], 0);
        }
      } else {
        CHECK_OK(MPI_Recv(in, MOST, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Isend(&length, 1, MPI_INT, other, 3, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Send(out, length, MPI_BYTE, other, 4, MPI_COMM_WORLD));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      }
    }
  }
  return check_end();
}
