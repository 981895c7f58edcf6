// Memory shared by all ranks: contiguous by default, with gaps if permitted, found by query.
// weft-test: among=threads
#include "check.h"
#include <stdint.h>

static MPI_Aint size_of(int rank) { return rank % 3 == 1 ? 0 : 24 * (rank + 1); }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int gaps = 0; gaps < 2; gaps++) {
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", gaps ? "true" : "false"));
    char *mine = NULL, *next = NULL, *base;
    MPI_Win win;
    MPI_Aint extent;
    int unit;
    CHECK_OK(MPI_Win_allocate_shared(size_of(check_rank), check_rank + 1, info, MPI_COMM_WORLD, &mine, &win));
    CHECK_OK(MPI_Info_free(&info));
    memset(mine, check_rank + 1, size_of(check_rank));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) {
      CHECK_OK(MPI_Win_shared_query(win, r, &extent, &unit, &base));
      CHECK_EQUAL(extent, size_of(r));
      CHECK_EQUAL(unit, r + 1);
      if (r == check_rank) CHECK(base == mine);
      if (!gaps && next) CHECK(base == next);
      if (r == 0 || (gaps && extent)) CHECK_EQUAL((uintptr_t)base % 16, 0);
      for (MPI_Aint i = 0; i < extent; i++) CHECK(base[i] == r + 1);
      next = base + extent;
    }
    // The first rank with memory is rank 0.
    MPI_Aint wide;
    CHECK_OK(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &extent, &wide, &base));
    CHECK_EQUAL(extent, size_of(0));
    CHECK_EQUAL(wide, 1);
    CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    CHECK_CLASS(MPI_Win_shared_query(win, size, &extent, &unit, &base), MPI_ERR_RANK);
    // What one rank writes another sees.
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    int left = (check_rank + size - 1) % size;
    CHECK_OK(MPI_Win_shared_query(win, left, &extent, &unit, &base));
    if (extent) base[extent - 1] = 100 + check_rank % 20;
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (size_of(check_rank)) CHECK_EQUAL(mine[size_of(check_rank) - 1], 100 + (check_rank + 1) % size % 20);
    CHECK_OK(MPI_Win_free(&win));
  }
  // Nobody has memory.
  char *base = NULL;
  MPI_Win win;
  MPI_Aint extent = -1;
  int unit;
  CHECK_OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  CHECK_OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &extent, &unit, &base));
  CHECK_EQUAL(extent, 0);
  CHECK_OK(MPI_Win_free(&win));
  // The memory of other windows can be reached, too.
  long number = check_rank, *there;
  CHECK_OK(MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_shared_query(win, size - 1, &extent, &unit, &there));
  if (extent) CHECK_EQUAL(*there, size - 1);
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
