// More communicators at once than there is memory for their ranks to meet in, and the same again after they are freed:
// short and long data arrives whole on each, also where neighbouring communicators have the same context.
// weft-test: ranks=1,2,3,4,9
#include "check.h"

enum { AT_ONCE = 70, MOST = 40000 };
static int data[MOST], sum[MOST], all[MOST];

static void use(MPI_Comm comm, int seed) {
  static const int counts[] = {1, 9, 300, 4096, 4097, 16400, MOST};
  int size, rank;
  MPI_Comm_size(comm, &size), MPI_Comm_rank(comm, &rank);
  int n = counts[seed % 7], root = seed % size;
  CHECK_OK(MPI_Barrier(comm));
  for (int i = 0; i < n; i++) data[i] = rank == root ? seed + i : -1;
  CHECK_OK(MPI_Bcast(data, n, MPI_INT, root, comm));
  for (int i = 0; i < n; i++) CHECK_EQUAL(data[i], seed + i);
  for (int i = 0; i < n; i++) data[i] = (rank + 1) * (seed + i);
  CHECK_OK(MPI_Allreduce(data, sum, n, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < n; i++) CHECK_EQUAL(sum[i], size * (size + 1) / 2 * (seed + i));
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_INT, MPI_MAX, comm));
  for (int i = 0; i < n; i++) CHECK_EQUAL(data[i], size * (seed + i));
  memset(sum, 0, sizeof sum);
  CHECK_OK(MPI_Reduce(data, sum, n, MPI_INT, MPI_SUM, root, comm));
  for (int i = 0; i < n && rank == root; i++) CHECK_EQUAL(sum[i], size * size * (seed + i));
  int each = n / size;
  for (int i = 0; i < each; i++) data[i] = rank * 1000 + i;
  CHECK_OK(MPI_Allgather(data, each, MPI_INT, all, each, MPI_INT, comm));
  for (int i = 0; i < each * size; i++) CHECK_EQUAL(all[i], i / each * 1000 + i % each);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  static MPI_Comm comms[AT_ONCE];
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < AT_ONCE; i++) {
      if (i % 3 == 0) CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, (check_rank + i) % 2, i % 2 ? -check_rank : check_rank, &comms[i]));
      else CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
      // Some are freed without having been used.
      if (i % 5 != round) use(comms[i], i + round);
    }
    for (int i = AT_ONCE - 1; i >= 0; i--) {
      if (i % 7 == 0 && i % 5 != round) use(comms[i], i + 3);
      CHECK_OK(MPI_Comm_free(&comms[i]));
    }
  }
  return check_end();
}
