// When several operations end and one has failed, the error handler is told that one's code; the call says that codes
// are in the statuses.
#include "check.h"

static int calls, last_class;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...) {
  calls++;
  last_comm = *comm;
  MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm comm;
  MPI_Errhandler mine;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int out[4] = {1, 2, 3, 4}, in[3][4], done, indices[3];
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Comm_create_errhandler(handler, &mine));
  CHECK_OK(MPI_Comm_set_errhandler(comm, mine));
  CHECK_OK(MPI_Errhandler_free(&mine));
  for (int way = 0; way < 4; way++) {
    // The second message is too long for its receive.
    for (int i = 0; i < 3; i++) CHECK_OK(MPI_Irecv(in[i], 2, MPI_INT, 0, i, comm, &requests[i]));
    for (int i = 0; i < 3; i++) CHECK_OK(MPI_Send(out, i == 1 ? 4 : 2, MPI_INT, 0, i, comm));
    int code;
    switch (way) {
      case 0: code = MPI_Waitall(3, requests, statuses); break;
      case 1: code = MPI_Testall(3, requests, &done, statuses); break;
      case 2: code = MPI_Waitsome(3, requests, &done, indices, statuses); break;
      default: code = MPI_Testsome(3, requests, &done, indices, statuses); break;
    }
    CHECK_CLASS(code, MPI_ERR_IN_STATUS);
    CHECK_EQUAL(calls, way + 1);
    CHECK_EQUAL(last_class, MPI_ERR_TRUNCATE);
    CHECK(last_comm == comm);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_CLASS(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK_CLASS(statuses[2].MPI_ERROR, MPI_SUCCESS);
  }
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
