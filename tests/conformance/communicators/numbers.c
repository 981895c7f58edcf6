// Context numbers are used again: a hundred and forty thousand communicators, some of which stay, each apart from all others. A
// duplicate may outlive what it is a duplicate of.
// weft-test: ranks=2 schedulers=user workers=2 part=threads,processes
#include "check.h"

enum { ROUNDS = 70000, KEPT = 20 };

static int right, left;

// Sends around a ring what only this communicator's ranks send now.
static void pass(MPI_Comm comm, int mark) {
  int out = mark + check_rank, in = -1;
  CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, right, 5, &in, 1, MPI_INT, left, 5, comm, MPI_STATUS_IGNORE));
  CHECK_EQUAL(in, mark + left);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (check_rank + 1) % size, left = (check_rank + size - 1) % size;
  static MPI_Comm kept[KEPT];
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Comm first, second;
    MPI_Request request;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    CHECK_OK(MPI_Comm_idup(first, &second, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Comm_free(&first));
    if (i % 1000 == 0) pass(second, i);
    if (i % (ROUNDS / KEPT) == 0)
      kept[i / (ROUNDS / KEPT)] = second;
    else
      CHECK_OK(MPI_Comm_free(&second));
  }
  for (int i = 0; i < KEPT; i++) {
    pass(kept[i], i);
    CHECK_OK(MPI_Barrier(kept[i]));
    CHECK_OK(MPI_Comm_free(&kept[i]));
  }
  return check_end();
}
