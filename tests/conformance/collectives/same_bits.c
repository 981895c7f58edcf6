// A reduction gives the same bits whenever it is repeated, whatever order ranks arrive in: sums of numbers whose rounding
// depends on the order. Among ranks of one process its blocking, nonblocking and persistent form give the same; among
// processes of one host the blocking form combines in memory, the others in messages.
#include "check.h"

enum { MOST = 3000 };
static double send[MOST * 40], first[MOST * 40], again[MOST * 40], last[MOST * 40];

static int together;

// Compares a nonblocking or persistent form's result with that of the blocking form, or with that of the form before.
static void compare(double *last, size_t bytes, int is_first) {
  if (together || !is_first) CHECK(memcmp(together ? first : last, again, bytes) == 0);
  memcpy(last, again, bytes);
}

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
  CHECK_OK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  MPI_Comm_size(shared, &together);
  together = together == size;
  CHECK_OK(MPI_Comm_free(&shared));
  for (int c = 0; c < 5; c++) {
    int n = counts[c];
    size_t bytes = n * sizeof(double);
    for (int i = 0; i < n * size; i++) send[i] = 1.0 / (3 + check_rank * 7 + i) * (i % 2 ? 1e9 : 1e-9);
    CHECK_OK(MPI_Allreduce(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Allreduce(send, again, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Iallreduce(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    compare(last, bytes, 1);
    memset(again, 0, bytes);
    CHECK_OK(MPI_Allreduce_init(send, again, n, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, &request));
    complete(&request, 1);
    compare(last, bytes, 0);
    int root = c % size;
    // In one process every reduction combines in one order; between processes the way to the root decides.
    memset(again, 0, bytes);
    CHECK_OK(MPI_Ireduce(send, again, n, MPI_DOUBLE, MPI_SUM, root, world, &request));
    complete(&request, 0);
    if (check_rank == root) compare(last, bytes, 1);
    CHECK_OK(MPI_Reduce(send, first, n, MPI_DOUBLE, MPI_SUM, root, world));
    CHECK_OK(MPI_Reduce(send, again, n, MPI_DOUBLE, MPI_SUM, root, world));
    if (check_rank == root) CHECK(memcmp(first, again, bytes) == 0);
    if (check_rank == root && together) CHECK(memcmp(first, last, bytes) == 0);
    CHECK_OK(MPI_Scan(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Scan(send, again, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Iscan(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    compare(last, bytes, 1);
    CHECK_OK(MPI_Reduce_scatter_block(send, first, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK_OK(MPI_Reduce_scatter_block(send, again, n, MPI_DOUBLE, MPI_SUM, world));
    CHECK(memcmp(first, again, bytes) == 0);
    CHECK_OK(MPI_Ireduce_scatter_block(send, again, n, MPI_DOUBLE, MPI_SUM, world, &request));
    complete(&request, 0);
    compare(last, bytes, 1);
  }
  return check_end();
}
