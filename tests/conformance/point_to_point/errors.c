// Wrong arguments give the right error class; truncation is reported by every way of receiving.
// weft-test: buffers=yes
#include "../check.h"

static MPI_Comm reported = MPI_COMM_NULL;
static int reports;
static void handler(MPI_Comm *comm, int *code, ...) {
  (void)code;
  reported = *comm;
  reports++;
}

int main(int argc, char **argv) {
  int rank, size, flag, index, count, indices[4];
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int data[100] = {0}, in[100];
  MPI_Status status, statuses[4];
  MPI_Request request = MPI_REQUEST_NULL, bad[2];
  MPI_Message message;

  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, -7, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Ssend(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Rsend(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Bsend(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Isend(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Isend(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Send_init(data, 1, MPI_INT, 0, -3, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Recv(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Recv(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Recv(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Irecv(data, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Probe(size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Iprobe(0, -9, MPI_COMM_WORLD, &flag, &status), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Sendrecv(data, 1, MPI_INT, size, 0, in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Sendrecv(data, 1, MPI_INT, 0, 0, in, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG);

  // Handles that are none.
  memset(&bad[0], 0x5a, sizeof(bad[0]));
  memset(&bad[1], 0, sizeof(bad[1]));
  for (int i = 0; i < 2; i++) {
    request = bad[i];
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Test(&request, &flag, &status), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Waitall(1, &request, statuses), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Waitany(1, &request, &index, &status), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Testsome(1, &request, &count, indices, statuses), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  }
  request = MPI_REQUEST_NULL;
  CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Irecv(in, 100, MPI_INT, rank, 3, MPI_COMM_WORLD, &request));
  MPI_Request old = request;
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST); // Not persistent.
  CHECK_OK(MPI_Send(data, 1, MPI_INT, rank, 3, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_CLASS(MPI_Wait(&old, &status), MPI_ERR_REQUEST); // Completed already.

  // Truncation, received before and after, short and long, by every call.
  for (int length = 2; length <= 100; length += 98) {
    for (int i = 0; i < 100; i++)
      data[i] = i, in[i] = -1;
    CHECK_OK(MPI_Isend(data, length, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
    CHECK_CLASS(MPI_Recv(in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == 0 && in[1] == -1);
    CHECK_OK(MPI_Irecv(in, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Send(data, length, MPI_INT, rank, 2, MPI_COMM_WORLD));
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
    CHECK(request == MPI_REQUEST_NULL && in[1] == -1);
    CHECK_OK(MPI_Send(data, length, MPI_INT, rank, 2, MPI_COMM_WORLD));
    CHECK_OK(MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &message, &status));
    CHECK_CLASS(MPI_Mrecv(in, 1, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
    CHECK_OK(MPI_Send(data, length, MPI_INT, rank, 2, MPI_COMM_WORLD));
    CHECK_OK(MPI_Mprobe(rank, 2, MPI_COMM_WORLD, &message, &status));
    CHECK_OK(MPI_Imrecv(in, 1, MPI_INT, &message, &request));
    CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);

    // Calls that complete several say which one failed.
    MPI_Request two[2];
    CHECK_OK(MPI_Irecv(in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &two[0]));
    CHECK_OK(MPI_Irecv(in + 50, 50, MPI_INT, rank, 5, MPI_COMM_WORLD, &two[1]));
    CHECK_OK(MPI_Send(data, length, MPI_INT, rank, 4, MPI_COMM_WORLD));
    CHECK_OK(MPI_Send(data, 1, MPI_INT, rank, 5, MPI_COMM_WORLD));
    statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = -1;
    CHECK_CLASS(MPI_Waitall(2, two, statuses), MPI_ERR_IN_STATUS);
    CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK_EQUAL(statuses[1].MPI_ERROR, MPI_SUCCESS);
  }

  // An error of a request goes to its communicator's handler.
  MPI_Comm comm;
  MPI_Errhandler errhandler;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  CHECK_OK(MPI_Comm_set_errhandler(comm, errhandler));
  CHECK_OK(MPI_Irecv(in, 1, MPI_INT, rank, 6, comm, &request));
  CHECK_OK(MPI_Send(data, 3, MPI_INT, rank, 6, comm));
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
  CHECK(reports == 1 && reported == comm);
  MPI_Errhandler_free(&errhandler);
  MPI_Comm_free(&comm);
  return check_end();
}
