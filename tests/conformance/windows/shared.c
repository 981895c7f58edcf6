// Memory shared by all ranks of a host: contiguous by default, with gaps if permitted, found by query.
#include "check.h"
#include <stdint.h>

static MPI_Comm comm;
static int own;

static MPI_Aint size_of(int rank) { return rank % 3 == 1 ? 0 : 24 * (rank + 1); }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &own);
  for (int gaps = 0; gaps < 2; gaps++) {
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", gaps ? "true" : "false"));
    char *mine = NULL, *next = NULL, *base;
    MPI_Win win;
    MPI_Aint extent;
    int unit;
    CHECK_OK(MPI_Win_allocate_shared(size_of(own), own + 1, info, comm, &mine, &win));
    CHECK_OK(MPI_Info_free(&info));
    memset(mine, own + 1, size_of(own));
    CHECK_OK(MPI_Barrier(comm));
    for (int r = 0; r < size; r++) {
      CHECK_OK(MPI_Win_shared_query(win, r, &extent, &unit, &base));
      CHECK_EQUAL(extent, size_of(r));
      CHECK_EQUAL(unit, r + 1);
      if (r == own) CHECK(base == mine);
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
    CHECK_OK(MPI_Barrier(comm));
    int left = (own + size - 1) % size;
    CHECK_OK(MPI_Win_shared_query(win, left, &extent, &unit, &base));
    if (extent) base[extent - 1] = 100 + own % 20;
    CHECK_OK(MPI_Barrier(comm));
    if (size_of(own)) CHECK_EQUAL(mine[size_of(own) - 1], 100 + (own + 1) % size % 20);
    CHECK_OK(MPI_Win_free(&win));
  }
  // Nobody has memory.
  char *base = NULL;
  MPI_Win win;
  MPI_Aint extent = -1;
  int unit;
  CHECK_OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, comm, &base, &win));
  CHECK_OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &extent, &unit, &base));
  CHECK_EQUAL(extent, 0);
  CHECK_OK(MPI_Win_free(&win));
  // The memory of other windows may be reached, too.
  long number = own, *there;
  CHECK_OK(MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, comm, &win));
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Win_shared_query(win, size - 1, &extent, &unit, &there));
  if (extent) CHECK_EQUAL(*there, size - 1);
  // Who asks for the first rank with memory asks for rank 0, whether its memory is seen or not.
  CHECK_OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &extent, &unit, &there));
  if (extent) CHECK_EQUAL(*there, 0);
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
