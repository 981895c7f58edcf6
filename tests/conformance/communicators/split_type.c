// MPI_Comm_split_type: the ranks that share memory.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, rank, shared_size, smallest;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm shared, none;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  CHECK(shared != MPI_COMM_NULL);
  MPI_Comm_size(shared, &shared_size);
  MPI_Comm_rank(shared, &rank);
  CHECK(shared_size >= 1 && shared_size <= size && rank < shared_size);
  CHECK_OK(MPI_Allreduce(&check_rank, &smallest, 1, MPI_INT, MPI_MIN, shared));
  CHECK((rank == 0) == (smallest == check_rank));
  CHECK_OK(MPI_Comm_free(&shared));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  CHECK(none == MPI_COMM_NULL);
  return check_end();
}
