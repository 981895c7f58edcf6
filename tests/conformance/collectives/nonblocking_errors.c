// Wrong arguments of nonblocking collectives are found by the call; what goes wrong later is for the call that completes
// the request. Requests of collectives are neither freed nor cancelled. Ranks in different calls are told so.
// weft-test: faults=yes
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, x = 1, y[64] = {0}, sum = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL, copy;
  CHECK_CLASS(MPI_Ibcast(&x, 1, MPI_INT, size, world, &request), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Ibcast(&x, -1, MPI_INT, 0, world, &request), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Ibcast(&x, 1, MPI_DATATYPE_NULL, 0, world, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Ibcast(NULL, 1, MPI_INT, 0, world, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Ibcast(&x, 1, MPI_INT, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Ibcast(&x, 1, MPI_INT, 0, world, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Iallreduce(&x, &x, 1, MPI_INT, MPI_SUM, world, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Iallreduce(&x, y, 1, MPI_INT, MPI_MAXLOC, world, &request), MPI_ERR_OP);
  CHECK_CLASS(MPI_Ialltoallv(y, NULL, NULL, MPI_INT, y, NULL, NULL, MPI_INT, world, &request), MPI_ERR_ARG);
  CHECK(request == MPI_REQUEST_NULL);
  // Neither freed nor cancelled; the operation goes on.
  CHECK_OK(MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, world, &request));
  copy = request;
  CHECK_CLASS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(sum, size);
  // Nor where the rank's part was over at once, as that of one who only contributes.
  CHECK_OK(MPI_Ireduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0, world, &request));
  copy = request;
  CHECK(request != MPI_REQUEST_NULL);
  CHECK_CLASS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  int flag = 0;
  while (!flag) CHECK_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  CHECK(request == copy);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  if (check_rank == 0) CHECK_EQUAL(sum, size);
  // Too little room.
  CHECK_OK(MPI_Ibcast(y, check_rank == 0 ? 2 : 1, MPI_INT, 0, world, &request));
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), check_rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  CHECK(request == MPI_REQUEST_NULL);
  int counts[64];
  for (int i = 0; i < 64; i++) counts[i] = 1;
  CHECK_OK(MPI_Igather(&counts, check_rank == size - 1 ? 2 : 1, MPI_INT, y, check_rank == 0 ? 1 : 0, MPI_INT, 0, world,
                       &request));
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), check_rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  // The root decides how much is sent, whoever comes first.
  for (int root = 0; root < size; root++) {
    CHECK_OK(MPI_Ibcast(y, check_rank == root ? 64 : check_rank % 2 ? 1 : 63, MPI_INT, root, world, &request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), check_rank == root ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  }
  // Contributions of different lengths.
  if (size > 1) {
    CHECK_OK(MPI_Iallreduce(counts, y, check_rank == size - 1 ? 2 : 1, MPI_INT, MPI_SUM, world, &request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  }
  // One rank is somewhere else.
  if (size > 1) {
    MPI_Status status;
    if (check_rank == size - 1)
      CHECK_OK(MPI_Ibarrier(world, &request));
    else
      CHECK_OK(MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, world, &request));
    CHECK_CLASS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    CHECK_CLASS(status.MPI_ERROR, MPI_ERR_OTHER);
  }
  // The communicator goes on.
  CHECK_OK(MPI_Ibarrier(world, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Barrier(world));
  return check_end();
}
