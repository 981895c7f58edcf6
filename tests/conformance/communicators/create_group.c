// MPI_Comm_create_group concerns the members only: nobody waits for the others.
// weft-test: needs=MPI_Comm_create_group
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Group world, even;
  MPI_Comm comm;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  CHECK_OK(MPI_Group_range_incl(world, 1, (int[1][3]){{0, size - 1, 2}}, &even));
  for (int round = 0; round < 20; round++) {
    if (check_rank % 2 == 0) {
      CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, even, round, &comm));
      int sum = 0, one = 1;
      CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
      CHECK_EQUAL(sum, (size + 1) / 2);
      CHECK_OK(MPI_Comm_free(&comm));
    }
  }
  MPI_Group_free(&even), MPI_Group_free(&world);
  return check_end();
}
