// Wrong arguments of collective operations get the standard's error classes; ranks in different calls are told so.
// weft-test: faults=yes
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, x = 1, y[64];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm world = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, size, world), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, -1, world), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&x, -1, MPI_INT, 0, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_DATATYPE_NULL, 0, world), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(NULL, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allreduce(&x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allreduce(&x, y, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(&x, y, 1, MPI_INT, MPI_MAXLOC, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce(&x, y, 1, MPI_DOUBLE, MPI_BAND, 0, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, y, 1, MPI_INT, (check_rank + 1) % size, world),
              size > 1 ? MPI_ERR_BUFFER : MPI_SUCCESS);
  CHECK_CLASS(MPI_Allgatherv(&x, 1, MPI_INT, y, NULL, NULL, MPI_INT, world), MPI_ERR_ARG);
  // One buffer twice: every rank has the piece for itself in both.
  int counts[64], displacements[64], buffer[64] = {0};
  MPI_Datatype types[64];
  for (int peer = 0; peer < size; peer++) {
    counts[peer] = 1;
    displacements[peer] = peer;
    types[peer] = MPI_INT;
  }
  CHECK_CLASS(MPI_Alltoallv(buffer, counts, displacements, MPI_INT, buffer, counts, displacements, MPI_INT, world),
              MPI_ERR_BUFFER);
  for (int peer = 0; peer < size; peer++)
    displacements[peer] *= sizeof(int);
  CHECK_CLASS(MPI_Alltoallw(buffer, counts, displacements, types, buffer, counts, displacements, types, world),
              MPI_ERR_BUFFER);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  CHECK_CLASS(MPI_Bcast(y, 1, pair, 0, world), MPI_ERR_TYPE);
  MPI_Type_free(&pair);
  // Too little room.
  CHECK_CLASS(MPI_Bcast(y, check_rank == 0 ? 2 : 1, MPI_INT, 0, world),
              check_rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  static char much[200000];
  CHECK_CLASS(MPI_Bcast(much, check_rank == 0 ? 200000 : 150000, MPI_CHAR, 0, world),
              check_rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  // One rank is somewhere else.
  if (size > 1) {
    int sum;
    if (check_rank == size - 1)
      CHECK_CLASS(MPI_Barrier(world), MPI_ERR_OTHER);
    else
      CHECK_CLASS(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, world), MPI_ERR_OTHER);
  }
  // The communicator goes on.
  CHECK_OK(MPI_Barrier(world));
  return check_end();
}
