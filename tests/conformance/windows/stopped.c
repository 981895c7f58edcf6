// Ranks of other processes of a host are locked, read and changed while their process does not run at all: it is stopped. Where
// ranks are threads of one process there is nothing to stop.
// weft-test: among=host ranks=2,3,17
#include "check.h"
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static void add(int target, int64_t value, MPI_Win win) {
  int64_t before;
  CHECK_OK(MPI_Fetch_and_op(&value, &before, MPI_INT64_T, target, 0, MPI_SUM, win));
}

// All synchronisation that is a lock.
static void use(int target, MPI_Win win) {
  for (int type = 0; type < 2; type++) {
    CHECK_OK(MPI_Win_lock(type ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win));
    add(target, 1, win);
    CHECK_OK(MPI_Win_flush(target, win));
    CHECK_OK(MPI_Win_unlock(target, win));
  }
  CHECK_OK(MPI_Win_lock_all(0, win));
  add(target, 1, win);
  CHECK_OK(MPI_Win_flush_all(win));
  CHECK_OK(MPI_Win_unlock_all(win));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  // getpid tells ranks of a process apart.
  char name[32] = "";
  CHECK(readlink("/proc/self", name, sizeof name - 1) > 0);
  int64_t *mine, own = atoll(name), pids[64];
  MPI_Win win;
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK_OK(MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  *mine = 0;
  CHECK_OK(MPI_Allgather(&own, 1, MPI_INT64_T, pids, 1, MPI_INT64_T, MPI_COMM_WORLD));
  int target = size - 1, is_apart = pids[0] != pids[target];
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (check_rank == 0) {
    if (is_apart) CHECK(kill((pid_t)pids[target], SIGSTOP) == 0);
    use(target, win);
    if (is_apart) CHECK(kill((pid_t)pids[target], SIGCONT) == 0);
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (check_rank == target) CHECK(*mine == 3);
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
