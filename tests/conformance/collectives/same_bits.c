// A reduction gives the same bits in its blocking, nonblocking and persistent form, whatever order ranks arrive in: sums
// of numbers whose rounding depends on the order; of operations that commute and that do not, with ranks placed one after the
// other and in turns.
// weft-test: ranks=2,3,4,5,8
#include "check.h"
#include <unistd.h>

enum { MOST = 3000, LONG = 70000 };
static double send[MOST * 40], first[MOST * 40], again[MOST * 40];

static void complete(MPI_Request *request, int persistent) {
  if (persistent) CHECK_OK(MPI_Start(request));
  CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  if (persistent) CHECK_OK(MPI_Request_free(request));
}

static void sum(void *in, void *inout, int *length, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *length; i++) ((double *)inout)[i] = ((double *)in)[i] + ((double *)inout)[i];
}

static void fill(int rank, int n) {
  for (int i = 0; i < n; i++) send[i] = 1.0 / (3 + rank * 7 + i) * (i % 2 ? 1e9 : 1e-9);
}

static void same(int n) {
  CHECK(memcmp(first, again, n * sizeof(double)) == 0);
  memset(again, 0, n * sizeof(double));
}

static void all_and_one(int n, int root, MPI_Op op, MPI_Comm comm, int together) {
  int rank;
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  CHECK_OK(MPI_Allreduce(send, first, n, MPI_DOUBLE, op, comm));
  CHECK_OK(MPI_Iallreduce(send, again, n, MPI_DOUBLE, op, comm, &request));
  complete(&request, 0);
  same(n);
  CHECK_OK(MPI_Allreduce_init(send, again, n, MPI_DOUBLE, op, comm, MPI_INFO_NULL, &request));
  complete(&request, 1);
  same(n);
  CHECK_OK(MPI_Ireduce(send, again, n, MPI_DOUBLE, op, root, comm, &request));
  complete(&request, 0);
  // In one process every reduction combines in one order; between processes the way to the root may decide.
  if (rank == root && together) CHECK(memcmp(first, again, n * sizeof(double)) == 0);
  CHECK_OK(MPI_Reduce(send, first, n, MPI_DOUBLE, op, root, comm));
  if (rank == root) same(n);
  CHECK_OK(MPI_Reduce_init(send, again, n, MPI_DOUBLE, op, root, comm, MPI_INFO_NULL, &request));
  complete(&request, 1);
  if (rank == root) same(n);
}

static void parts(int n, MPI_Op op, MPI_Comm comm) {
  int rank, size, counts[40];
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_OK(MPI_Scan(send, first, n, MPI_DOUBLE, op, comm));
  CHECK_OK(MPI_Iscan(send, again, n, MPI_DOUBLE, op, comm, &request));
  complete(&request, 0);
  same(n);
  memset(first, 0, n * sizeof(double));
  CHECK_OK(MPI_Exscan(send, first, n, MPI_DOUBLE, op, comm));
  CHECK_OK(MPI_Exscan_init(send, again, n, MPI_DOUBLE, op, comm, MPI_INFO_NULL, &request));
  complete(&request, 1);
  same(n);
  CHECK_OK(MPI_Reduce_scatter_block(send, first, n, MPI_DOUBLE, op, comm));
  CHECK_OK(MPI_Ireduce_scatter_block(send, again, n, MPI_DOUBLE, op, comm, &request));
  complete(&request, 0);
  same(n);
  for (int i = 0; i < size; i++) counts[i] = i % 2 ? n : n / 2;
  CHECK_OK(MPI_Reduce_scatter(send, first, counts, MPI_DOUBLE, op, comm));
  CHECK_OK(MPI_Ireduce_scatter(send, again, counts, MPI_DOUBLE, op, comm, &request));
  complete(&request, 0);
  same(counts[rank]);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, together, counts[] = {1, 8, 30, 100, MOST};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm turns;
  MPI_Op ordered;
  CHECK_OK(MPI_Op_create(sum, 0, &ordered));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, check_rank % 2 * size + check_rank, &turns));
  // Processes of a host share memory, too.
  int own = (int)getpid(), least, most;
  CHECK_OK(MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  together = least == most;
  for (int way = 0; way < 4; way++) {
    MPI_Op op = way % 2 ? ordered : MPI_SUM;
    MPI_Comm comm = way / 2 ? turns : MPI_COMM_WORLD;
    for (int c = 0; c < 5; c++) {
      fill(check_rank, counts[c] * size);
      all_and_one(counts[c], c % size, op, comm, together);
      parts(counts[c], op, comm);
    }
    fill(check_rank, LONG);
    all_and_one(LONG, way % size, op, comm, together);
  }
  CHECK_OK(MPI_Op_free(&ordered));
  CHECK_OK(MPI_Comm_free(&turns));
  return check_end();
}
