// A reduction gives the same bits in its blocking, nonblocking and persistent form, whatever order ranks arrive in: sums
// of numbers whose rounding depends on the order.
#include "check.h"

enum { MOST = 3000 };
static double send[MOST * 40], first[MOST * 40], again[MOST * 40];

static void complete(MPI_Request *request, int persistent) {
  if (persistent) CHECK_OK(MPI_Start(request));
  CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  if (persistent) CHECK_OK(MPI_Request_free(request));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, counts[] = {1, 8, 30, 100, MOST};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request;
  MPI_Comm shared;
  int together;
  CHECK_OK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  MPI_Comm_size(shared, &together);
  together = together == size;
  CHECK_OK(MPI_Comm_free(&shared));
  for (int c = 0; c < 5; c++) {
    int n = counts[c];
    size_t bytes = n * sizeof(double);
    for (int i = 0; i < n * size; i++) send[i] = 1.0 / (3 + check_rank * 7 + i) * (i % 2 ? 1e9 : 1e-9);
    CHECK_OK(MPI_Allreduce(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Iallreduce(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    CHECK(memcmp(first, again, bytes) == 0);
    memset(again, 0, bytes);
    CHECK_OK(MPI_Allreduce_init(send, again, n, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, &request));
    complete(&request, 1);
    CHECK(memcmp(first, again, bytes) == 0);
    int root = c % size;
    memset(again, 0, bytes);
    CHECK_OK(MPI_Ireduce(send, again, n, MPI_DOUBLE, MPI_SUM, root, world, &request));
    complete(&request, 0);
    // In one process every reduction combines in one order; between processes the way to the root decides.
    if (check_rank == root && together) CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Reduce(send, first, n, MPI_DOUBLE, MPI_SUM, root, world));
    if (check_rank == root) CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Scan(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Iscan(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Reduce_scatter_block(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Ireduce_scatter_block(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    CHECK(memcmp(first, again, bytes) == 0);
  }
  return check_end();
}
