// MPI_Barrier: nobody leaves before all have come, on several communicators.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm copy;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_OK(MPI_Barrier(MPI_COMM_SELF));
  for (int turn = 0; turn < 200; turn++) {
    // A late root: the others see its value only if they waited for it.
    int late = turn % size, seen = -1;
    if (check_rank == late)
      for (volatile int i = 0; i < 1000; i++) continue;
    CHECK_OK(MPI_Barrier(turn % 2 ? copy : MPI_COMM_WORLD));
    seen = check_rank == late ? turn : -1;
    CHECK_OK(MPI_Bcast(&seen, 1, MPI_INT, late, copy));
    CHECK_EQUAL(seen, turn);
  }
  MPI_Comm_free(&copy);
  CHECK_CLASS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
  return check_end();
}
