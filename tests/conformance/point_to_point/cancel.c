// Cancel: what is cancelled leaves no trace, what is not completes as if nothing had been said, and the completing call
// never waits for another rank. Receives, sends, persistent and paired operations, matched receives.
#include "../check.h"

enum { LENGTH = 50000 };
static int out[LENGTH], in[LENGTH];

static int is_cancelled(const MPI_Status *status) {
  int flag = -1;
  CHECK_OK(MPI_Test_cancelled(status, &flag));
  return flag;
}

int main(int argc, char **argv) {
  int rank, size, flag, index, count, value = 0, indices[3];
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Status status, statuses[3];
  MPI_Request request, requests[3];
  MPI_Message message;

  // The middle one of three receives for the same messages: the others take them in order.
  for (int way = 0; way < 5; way++) {
    int got[3] = {-1, -1, -1};
    for (int i = 0; i < 3; i++)
      CHECK_OK(MPI_Irecv(&got[i], 1, MPI_INT, way % 2 ? left : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         &requests[i]));
    CHECK_OK(MPI_Cancel(&requests[1]));
    CHECK(requests[1] != MPI_REQUEST_NULL);
    switch (way) {
    case 0:
      CHECK_OK(MPI_Wait(&requests[1], &status));
      break;
    case 1:
      CHECK_OK(MPI_Test(&requests[1], &flag, &status));
      CHECK_EQUAL(flag, 1);
      break;
    case 2:
      CHECK_OK(MPI_Waitany(3, requests, &index, &status));
      CHECK_EQUAL(index, 1);
      break;
    case 3:
      CHECK_OK(MPI_Waitsome(3, requests, &count, indices, statuses));
      CHECK(count == 1 && indices[0] == 1);
      status = statuses[0];
      break;
    default:
      CHECK_OK(MPI_Request_get_status(requests[1], &flag, &status));
      CHECK(flag == 1 && is_cancelled(&status) == 1);
      CHECK_OK(MPI_Request_free(&requests[1]));
    }
    CHECK(requests[1] == MPI_REQUEST_NULL);
    CHECK_EQUAL(is_cancelled(&status), 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
      value = 100 * way + i;
      CHECK_OK(MPI_Send(&value, 1, MPI_INT, right, i, MPI_COMM_WORLD));
    }
    CHECK_OK(MPI_Waitall(3, requests, statuses));
    CHECK(got[0] == 100 * way && got[1] == -1 && got[2] == 100 * way + 1);
    CHECK(is_cancelled(&statuses[0]) == 0 && statuses[2].MPI_TAG == 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  // Too late: a message that matched is received, once.
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Send(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(is_cancelled(&status) == 0 && value == rank);
  CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(is_cancelled(&status), 0);
  // From nobody: complete from the start.
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);

  // Sends that nobody takes: short and long, standard and synchronous, persistent. Cancelled or received, never both.
  for (int way = 0; way < 6; way++) {
    int length = way % 2 ? LENGTH : 1, received;
    for (int i = 0; i < length; i++)
      out[i] = 10 * rank + way;
    if (way < 2)
      CHECK_OK(MPI_Isend(out, length, MPI_INT, right, 4, MPI_COMM_WORLD, &request));
    else if (way < 4)
      CHECK_OK(MPI_Issend(out, length, MPI_INT, right, 4, MPI_COMM_WORLD, &request));
    else
      CHECK_OK(MPI_Ssend_init(out, length, MPI_INT, right, 4, MPI_COMM_WORLD, &request));
    for (int again = 0; again < (way < 4 ? 1 : 2); again++) {
      if (way >= 4)
        CHECK_OK(MPI_Start(&request));
      CHECK_OK(MPI_Cancel(&request));
      CHECK_OK(MPI_Wait(&request, &status)); // Nobody receives now.
      int cancelled = is_cancelled(&status), theirs;
      if (way) // A short standard one may be with the receiver already.
        CHECK_EQUAL(cancelled, 1);
      memset(out, -1, length * sizeof(int));
      CHECK_OK(MPI_Sendrecv(&cancelled, 1, MPI_INT, right, 5, &theirs, 1, MPI_INT, left, 5, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Iprobe(left, 4, MPI_COMM_WORLD, &received, &status));
      CHECK_EQUAL(received, !theirs);
      if (received) {
        CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_EQUAL(in[0], 10 * left + way);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (way >= 4) { // The request itself is as good as before.
      CHECK_OK(MPI_Start(&request));
      CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, left, 4, MPI_COMM_WORLD, &status));
      CHECK_OK(MPI_Wait(&request, &status));
      CHECK_EQUAL(is_cancelled(&status), 0);
      CHECK_OK(MPI_Request_free(&request));
    }
    CHECK(request == MPI_REQUEST_NULL);
  }
  // A cancelled send is passed over: the receive is for the next one. A freed one is cancelled all the same.
  CHECK_OK(MPI_Issend(out, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[0]));
  out[1] = 77;
  CHECK_OK(MPI_Issend(&out[1], 1, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Cancel(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[0]));
  // A barrier may go other ways and overtake the cancelling; a message does not.
  CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_INT, right, 8, NULL, 0, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, 77);
  CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));

  // A send that a probe has matched is the probe's.
  out[0] = 78;
  CHECK_OK(MPI_Issend(out, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Mprobe(rank, 7, MPI_COMM_WORLD, &message, &status));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Test(&request, &flag, &status));
  CHECK_EQUAL(flag, 0); // Matched, but its receive has not started.
  CHECK_OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &requests[0]));
  CHECK_OK(MPI_Cancel(&requests[0])); // May fail, and does.
  CHECK_OK(MPI_Wait(&requests[0], &statuses[0]));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(is_cancelled(&status) == 0 && is_cancelled(&statuses[0]) == 0 && value == 78);

  // A send and a receive behind one request: the wait ends, although nobody sends and nobody receives.
  memset(in, -1, sizeof(in));
  CHECK_OK(MPI_Isendrecv(out, LENGTH, MPI_INT, right, 8, in, LENGTH, MPI_INT, left, 9, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQUAL(is_cancelled(&status), 1);
  CHECK_EQUAL(in[0], -1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQUAL(flag, 0);
  return check_end();
}
