// Beyond the standard: when several receives are complete, MPI_Waitany and MPI_Testany return the one whose message
// came first, also where a later place of the array holds it. Programs that post several wildcard receives and stop at
// a last message rely on it (HPCC's RandomAccess).
// weft-test: ranks=2,3,17
#include "check.h"

enum { RECEIVES = 4 };

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, next, previous;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;
  for (int round = 0; round < 30; round++) {
    MPI_Request requests[RECEIVES], sends[RECEIVES + 1];
    int in[RECEIVES], out[RECEIVES + 1], index = -1, flag = 0;
    for (int i = 0; i < RECEIVES; i++)
      CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i <= RECEIVES; i++) out[i] = 100 * round + i;
    CHECK_OK(MPI_Isend(&out[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &sends[0]));
    CHECK_OK(MPI_Waitany(RECEIVES, requests, &index, MPI_STATUS_IGNORE));
    CHECK_EQUAL(index, 0);
    CHECK_EQUAL(in[0], 100 * round);
    // Posted again, receive 0 is the last one in line.
    CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= RECEIVES; i++)
      CHECK_OK(MPI_Isend(&out[i], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &sends[i]));
    CHECK_OK(MPI_Waitall(RECEIVES + 1, sends, MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= RECEIVES; i++) {
      MPI_Status status;
      if (round % 2) CHECK_OK(MPI_Waitany(RECEIVES, requests, &index, &status));
      else
        for (flag = 0; !flag;) CHECK_OK(MPI_Testany(RECEIVES, requests, &index, &flag, &status));
      CHECK_EQUAL(index, i % RECEIVES);
      CHECK_EQUAL(in[index], 100 * round + i);
      CHECK_EQUAL(status.MPI_SOURCE, previous);
    }
  }
  // Persistent receives are in line since their start, not since they were made.
  MPI_Request requests[RECEIVES], send;
  int in[RECEIVES], index = -1;
  for (int i = 0; i < RECEIVES; i++)
    CHECK_OK(MPI_Recv_init(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
  for (int i = RECEIVES - 1; i >= 0; i--) CHECK_OK(MPI_Start(&requests[i]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < RECEIVES; i++) {
    CHECK_OK(MPI_Isend(&i, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &send));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < RECEIVES; i++) {
    CHECK_OK(MPI_Waitany(RECEIVES, requests, &index, MPI_STATUS_IGNORE));
    CHECK_EQUAL(index, RECEIVES - 1 - i);
    CHECK_EQUAL(in[index], i);
  }
  for (int i = 0; i < RECEIVES; i++) CHECK_OK(MPI_Request_free(&requests[i]));
  return check_end();
}
