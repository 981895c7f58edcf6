// Communicators that are freed while something is under way on them: what was begun ends as if they were still there,
// persistent requests can be started again, errors go to their error handlers; the handle is refused from then on.
#include "check.h"

static int handled;
static MPI_Comm handled_on;
static void handler(MPI_Comm *comm, int *code, ...) { (void)code, handled++, handled_on = *comm; }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, right, left, n;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (check_rank + 1) % size, left = (check_rank + size - 1) % size;
  MPI_Comm comm, copy, next;
  MPI_Request requests[4];
  MPI_Status statuses[4];

  // Receives are posted and sends begun, short and long ones; then all ranks free the communicator.
  enum { LONG = 300000 };
  static int out[LONG], in[LONG];
  for (int round = 0; round < 20; round++) {
    int word = 100 * round + check_rank, got = -1;
    for (int i = 0; i < LONG; i += 1000) out[i] = i + check_rank + round;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    copy = comm;
    CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, comm, &requests[0]));
    CHECK_OK(MPI_Irecv(in, LONG, MPI_INT, MPI_ANY_SOURCE, 2, comm, &requests[1]));
    CHECK_OK(MPI_Isend(&word, 1, MPI_INT, right, 1, comm, &requests[2]));
    CHECK_OK(MPI_Isend(out, LONG, MPI_INT, right, 2, comm, &requests[3]));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_size(copy, &n), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&copy), MPI_ERR_COMM);
    // The next communicator has nothing to do with the old messages.
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &next));
    int flag;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, next, &flag, MPI_STATUS_IGNORE));
    CHECK_EQUAL(flag, 0);
    CHECK_OK(MPI_Waitall(4, requests, statuses));
    CHECK_EQUAL(got, 100 * round + left);
    CHECK_EQUAL(statuses[1].MPI_SOURCE, left);
    for (int i = 0; i < LONG; i += 1000) CHECK_EQUAL(in[i], i + left + round);
    CHECK_OK(MPI_Comm_free(&next));
  }

  // Persistent requests go on in the context of the freed communicator, beside others that are created meanwhile.
  int word, got;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Send_init(&word, 1, MPI_INT, right, 3, comm, &requests[0]));
  CHECK_OK(MPI_Recv_init(&got, 1, MPI_INT, left, 3, comm, &requests[1]));
  CHECK_OK(MPI_Comm_free(&comm));
  for (int round = 0; round < 200; round++) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &next));
    word = 7 * round + check_rank, got = -1;
    CHECK_OK(MPI_Startall(2, requests));
    int other = -1;
    CHECK_OK(MPI_Sendrecv(&round, 1, MPI_INT, right, 3, &other, 1, MPI_INT, left, 3, next, MPI_STATUS_IGNORE));
    CHECK_EQUAL(other, round);
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(got, 7 * round + left);
    CHECK_OK(MPI_Comm_free(&next));
  }
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[1]));

  // An error of what was begun goes to the error handler of the freed communicator.
  MPI_Errhandler errhandler;
  int two[2] = {1, 2};
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, errhandler));
  CHECK_OK(MPI_Errhandler_free(&errhandler));
  copy = comm;
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, left, 4, comm, &requests[0]));
  CHECK_OK(MPI_Isend(two, 2, MPI_INT, right, 4, comm, &requests[1]));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK_EQUAL(handled, 1);
  CHECK(handled_on == copy);
  CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));

  // So does one of a message that was matched before.
  MPI_Message message;
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, errhandler));
  CHECK_OK(MPI_Errhandler_free(&errhandler));
  copy = comm;
  CHECK_OK(MPI_Isend(two, 2, MPI_INT, right, 4, comm, &requests[1]));
  CHECK_OK(MPI_Mprobe(left, 4, comm, &message, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  CHECK_EQUAL(handled, 2);
  CHECK(handled_on == copy);
  CHECK_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));

  // Disconnecting waits for what the rank has begun.
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  got = -1;
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, left, 5, comm, &requests[0]));
  CHECK_OK(MPI_Isend(&check_rank, 1, MPI_INT, right, 5, comm, &requests[1]));
  CHECK_OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL);
  CHECK_EQUAL(got, left);
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_CLASS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
  comm = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Comm_disconnect(&comm), MPI_ERR_COMM);
  comm = MPI_COMM_SELF;
  CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_COMM);
  return check_end();
}
