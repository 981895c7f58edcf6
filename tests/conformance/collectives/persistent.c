// Persistent collectives: started again with new data and in an order that differs from rank to rank; freed objects
// stay in use; what must not be done with their requests.
// weft-test: faults=yes
#include "values.h"

enum { COUNT = 700, TURNS = 5 };
static int size;

static void restart(MPI_Comm comm) {
  int *send = value_new(COUNT), *sum = value_new(COUNT), *cast = value_new(COUNT), *all = value_new(size * COUNT);
  MPI_Request requests[4];
  MPI_Datatype piece;
  MPI_Type_contiguous(COUNT, MPI_INT, &piece);
  MPI_Type_commit(&piece);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "weft_unknown", "1");
  CHECK_OK(MPI_Allreduce_init(send, sum, COUNT, MPI_INT, MPI_SUM, comm, info, &requests[0]));
  CHECK_OK(MPI_Bcast_init(cast, 1, piece, size - 1, comm, info, &requests[1]));
  CHECK_OK(MPI_Allgather_init(send, COUNT, MPI_INT, all, 1, piece, comm, MPI_INFO_NULL, &requests[2]));
  CHECK_OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[3]));
  MPI_Type_free(&piece);
  MPI_Info_free(&info);
  for (int turn = 0; turn < TURNS; turn++) {
    value_fill(send, check_rank, COUNT, turn);
    if (check_rank == size - 1) value_fill(cast, check_rank, COUNT, turn);
    // Inactive requests are complete.
    int flag = 0;
    CHECK_OK(MPI_Test(&requests[turn % 4], &flag, MPI_STATUS_IGNORE));
    CHECK_EQUAL(flag, 1);
    if (turn % 2)
      CHECK_OK(MPI_Startall(4, requests));
    else
      for (int i = 0; i < 4; i++) CHECK_OK(MPI_Start(&requests[(i + check_rank) % 4]));
    CHECK_CLASS(MPI_Start(&requests[0]), MPI_ERR_REQUEST);
    CHECK_OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
      int right = 0;
      for (int r = 0; r < size; r++) right += value(r, i, turn);
      wrong += sum[i] != right;
    }
    wrong += value_wrong(cast, size - 1, COUNT, turn);
    for (int r = 0; r < size; r++) wrong += value_wrong(all + r * COUNT, r, COUNT, turn);
    CHECK_EQUAL(wrong, 0);
  }
  for (int i = 0; i < 4; i++) {
    CHECK_OK(MPI_Request_free(&requests[i]));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  free(send);
  free(sum);
  free(cast);
  free(all);
}

static void misuse(void) {
  int x = check_rank, sum = -1;
  MPI_Request request, stale;
  CHECK_OK(MPI_Allreduce_init(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Start(&request));
  CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
  stale = request;
  CHECK_CLASS(MPI_Request_free(&stale), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(sum, size * (size - 1) / 2);
  CHECK_OK(MPI_Request_free(&request));
  CHECK_CLASS(MPI_Barrier_init(MPI_COMM_WORLD, (MPI_Info)12345, &request), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Bcast_init(&x, 1, MPI_INT, size, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  restart(MPI_COMM_WORLD);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  restart(copy);
  MPI_Comm_free(&copy);
  misuse();
  return check_end();
}
