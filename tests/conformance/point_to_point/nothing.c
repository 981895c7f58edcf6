// Messages without data: no elements, elements without bytes, null buffers. They are messages all the same: they match,
// keep their order and wake probes; and matched probes of nobody.
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size, count, flag, value;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Status status;
  MPI_Request request, requests[4];
  MPI_Message message;
  MPI_Datatype empty;
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  CHECK_OK(MPI_Type_commit(&empty));

  // Seven elements of no bytes are no bytes.
  CHECK_OK(MPI_Irecv(NULL, 7, empty, left, 0, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Send(NULL, 7, empty, right, 0, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Get_count(&status, empty, &count));
  CHECK_EQUAL(count, 0);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQUAL(count, 0);
  // A message with bytes is too long for them, and has no count in them.
  CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Probe(left, 1, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Get_count(&status, empty, &count));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  CHECK_CLASS(MPI_Recv(NULL, 5, empty, left, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Type_free(&empty);

  // Between others they keep their place, in every mode.
  void *buffer = malloc(4 * MPI_BSEND_OVERHEAD + 64);
  CHECK_OK(MPI_Buffer_attach(buffer, 4 * MPI_BSEND_OVERHEAD + 64));
  value = 41;
  CHECK_OK(MPI_Isend(&value, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Issend(NULL, 0, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Bsend(NULL, 0, MPI_INT, right, 2, MPI_COMM_WORLD));
  CHECK_OK(MPI_Ibsend(&value, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[2]));
  CHECK_OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
  for (int i = 0; i < 4; i++) {
    int got[2] = {-1, -1};
    CHECK_OK(MPI_Recv(got, 2, MPI_INT, left, 2, MPI_COMM_WORLD, &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQUAL(count, i == 0 || i == 3);
    CHECK_EQUAL(got[0], i == 0 || i == 3 ? 41 : -1);
  }
  CHECK_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  void *address;
  int length;
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  free(buffer);

  // Nothing to nobody, in all ways of finding out.
  value = 17;
  for (int way = 0; way < 6; way++) {
    memset(&status, 0x33, sizeof(status));
    flag = 1;
    message = MPI_MESSAGE_NULL;
    switch (way) {
    case 0: CHECK_OK(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status)); break;
    case 1: CHECK_OK(MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status)); break;
    case 2: CHECK_OK(MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message, &status)); break;
    case 3: CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status)); break;
    case 4:
      message = MPI_MESSAGE_NO_PROC;
      CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
      break;
    default:
      message = MPI_MESSAGE_NO_PROC;
      CHECK_OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
      CHECK(message == MPI_MESSAGE_NULL);
      CHECK_OK(MPI_Request_get_status(request, &flag, &status));
      CHECK_EQUAL(flag, 1);
      memset(&status, 0x33, sizeof(status));
      CHECK_OK(MPI_Wait(&request, &status));
      CHECK(request == MPI_REQUEST_NULL);
    }
    CHECK(flag == 1 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQUAL(count, 0);
    if (way == 2 || way == 3)
      CHECK(message == MPI_MESSAGE_NO_PROC);
    if (way > 3)
      CHECK(message == MPI_MESSAGE_NULL);
  }
  CHECK_EQUAL(value, 17);
  return check_end();
}
