// A persistent broadcast to ranks that expect less than the root sends: each start tells them, and the request stays.
// weft-test: faults=yes
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  // Too little room, in every start.
  int y[2] = {7, 8};
  MPI_Request cast;
  int count = check_rank == 0 ? 2 : 1;
  CHECK_OK(MPI_Bcast_init(y, count, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &cast));
  for (int turn = 0; turn < 2; turn++) {
    CHECK_OK(MPI_Start(&cast));
    CHECK_CLASS(MPI_Wait(&cast, MPI_STATUS_IGNORE), check_rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    CHECK(cast != MPI_REQUEST_NULL);
  }
  CHECK_OK(MPI_Request_free(&cast));
  return check_end();
}
