// The calls that make partitioned requests match in their order, per source, tag and communicator, and only each other;
// MPI_PROC_NULL on either side; requests that are never started.
// weft-test: buffers=yes
#include "../check.h"

enum { MANY = 5 };

int main(int argc, char **argv) {
  int rank, size, flag, count;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request sends[MANY], receives[MANY], others[2];
  MPI_Status status;
  MPI_Comm comm;
  int out[MANY][4], in[MANY][4], other[2][4], plain = 500 + rank, got = -1;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));

  for (int receiver_first = 0; receiver_first < 2; receiver_first++) {
    // Same source, tag and communicator: the order of the calls decides, whatever the order of the starts.
    for (int half = 0; half < 2; half++) {
      for (int i = 0; i < MANY; i++)
        if (half == receiver_first)
          CHECK_OK(MPI_Psend_init(out[i], 2, 2, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
        else
          CHECK_OK(MPI_Precv_init(in[i], 4, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]));
      // Another tag and another communicator in between match something else.
      if (half == receiver_first) {
        CHECK_OK(MPI_Psend_init(other[0], 1, 4, MPI_INT, right, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &others[0]));
        CHECK_OK(MPI_Psend_init(other[1], 1, 4, MPI_INT, right, 1, comm, MPI_INFO_NULL, &others[1]));
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++)
      for (int j = 0; j < 4; j++)
        out[i][j] = 1000 * rank + 10 * i + j, in[i][j] = -1;
    for (int i = MANY - 1; i >= 0; i--) {
      CHECK_OK(MPI_Start(&sends[i]));
      CHECK_OK(MPI_Pready_range(0, 1, sends[i]));
    }
    // An ordinary message of the same envelope goes to an ordinary receive.
    CHECK_OK(MPI_Send(&plain, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(got == 500 + left && status.MPI_TAG == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK_EQUAL(flag, 0);
    CHECK_OK(MPI_Startall(MANY, receives));
    CHECK_OK(MPI_Waitall(MANY, receives, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
      for (int j = 0; j < 4; j++)
        CHECK_EQUAL(in[i][j], 1000 * left + 10 * i + j);
    for (int i = 0; i < MANY; i++) {
      CHECK_OK(MPI_Request_free(&sends[i]));
      CHECK_OK(MPI_Request_free(&receives[i]));
    }
    // Never started, matched only now, and freed.
    for (int i = 0; i < 2; i++) {
      CHECK_OK(MPI_Request_free(&others[i]));
      CHECK_OK(MPI_Precv_init(in[i], 2, 2, MPI_INT, left, 2 - i, i ? comm : MPI_COMM_WORLD, MPI_INFO_NULL, &others[i]));
      CHECK_OK(MPI_Request_free(&others[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  // A sender's round ends without the receiver's help only after the receiver has started: started late here.
  CHECK_OK(MPI_Psend_init(out[0], 2, 2, MPI_INT, right, 3, comm, MPI_INFO_NULL, &sends[0]));
  CHECK_OK(MPI_Start(&sends[0]));
  CHECK_OK(MPI_Pready(1, sends[0]));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Precv_init(in[0], 2, 2, MPI_INT, left, 3, comm, MPI_INFO_NULL, &receives[0]));
  CHECK_OK(MPI_Start(&receives[0]));
  for (flag = 0; !flag;)
    CHECK_OK(MPI_Parrived(receives[0], 1, &flag));
  CHECK_OK(MPI_Parrived(receives[0], 0, &flag));
  CHECK_EQUAL(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Pready(0, sends[0]));
  CHECK_OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&receives[0], MPI_STATUS_IGNORE));
  MPI_Request_free(&sends[0]);
  MPI_Request_free(&receives[0]);

  // Nobody: complete once started; each partition is still made ready once.
  memset(in, 0x11, sizeof(in));
  CHECK_OK(MPI_Psend_init(out[0], 2, 2, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &sends[0]));
  CHECK_OK(MPI_Precv_init(in[0], 2, 2, MPI_INT, MPI_PROC_NULL, 3, comm, MPI_INFO_NULL, &receives[0]));
  for (int round = 0; round < 2; round++) {
    CHECK_OK(MPI_Start(&sends[0]));
    CHECK_OK(MPI_Start(&receives[0]));
    CHECK_OK(MPI_Pready(0, sends[0]));
    CHECK_CLASS(MPI_Pready(0, sends[0]), MPI_ERR_ARG);
    CHECK_OK(MPI_Pready(1, sends[0]));
    CHECK_OK(MPI_Parrived(receives[0], 1, &flag));
    CHECK_EQUAL(flag, 1);
    CHECK_OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&receives[0], &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
    CHECK_EQUAL(in[0][0], 0x11111111);
  }
  MPI_Request_free(&sends[0]);
  MPI_Request_free(&receives[0]);
  MPI_Comm_free(&comm);
  return check_end();
}
