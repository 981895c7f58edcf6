// Passive target synchronisation: locks that exclude, locks that are shared, locks on all, promises instead of locks, flushes,
// operations with requests, MPI_Win_sync.
#include "check.h"

enum { ROUNDS = 40 };

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *memory;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate((size + 4) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  memset(memory, 0, (size + 4) * sizeof(int));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));

  // Who holds the lock alone reads and writes what it likes: no increment is lost.
  for (int i = 0; i < ROUNDS; i++) {
    int target = (rank + i) % size, pair[2];
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    CHECK_OK(MPI_Get(pair, 2, MPI_INT, target, 0, 2, MPI_INT, win));
    CHECK_OK(MPI_Win_flush(target, win));
    CHECK_EQUAL(pair[0], pair[1]);
    pair[0]++;
    CHECK_OK(MPI_Put(&pair[0], 1, MPI_INT, target, 0, 1, MPI_INT, win));
    CHECK_OK(MPI_Win_flush_local(target, win));
    pair[1]++;
    CHECK_OK(MPI_Put(&pair[1], 1, MPI_INT, target, 1, 1, MPI_INT, win));
    CHECK_OK(MPI_Win_unlock(target, win));
    // Meanwhile some look at both, together.
    if (i % 5 == 0) {
      CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
      CHECK_OK(MPI_Get(pair, 2, MPI_INT, target, 0, 2, MPI_INT, win));
      CHECK_OK(MPI_Win_unlock(target, win));
      CHECK_EQUAL(pair[0], pair[1]);
    }
    // And some lock all, which waits for those who hold any alone.
    if (i % 7 == 0) {
      CHECK_OK(MPI_Win_lock_all(0, win));
      CHECK_OK(MPI_Get(pair, 2, MPI_INT, target, 0, 2, MPI_INT, win));
      CHECK_OK(MPI_Win_flush_all(win));
      CHECK_EQUAL(pair[0], pair[1]);
      CHECK_OK(MPI_Win_unlock_all(win));
    }
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int sum = memory[0];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(sum, size * ROUNDS);

  // Several at once: two exclusively, in an order in which nobody waits for ever, and the others shared.
  for (int i = 0; i < size; i++) {
    CHECK_OK(MPI_Win_lock(i < 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, i, 0, win));
  }
  for (int i = 0; i < size; i++) CHECK_OK(MPI_Put(&rank, 1, MPI_INT, i, 4 + rank, 1, MPI_INT, win));
  CHECK_OK(MPI_Win_flush_local_all(win));
  for (int i = size - 1; i >= 0; i--) CHECK_OK(MPI_Win_unlock(i, win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < size; i++) CHECK_EQUAL(memory[4 + i], i);

  // Requests are complete whichever call asks; what they return is there then.
  int next = (rank + 1) % size, values[4] = {rank, rank + 1, rank + 2, rank + 3}, got[4] = {-1, -1, -1, -1}, index, done = 0;
  MPI_Request requests[4];
  MPI_Status statuses[4];
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  CHECK_OK(MPI_Rput(&values[0], 1, MPI_INT, next, 0, 1, MPI_INT, win, &requests[0]));
  CHECK_OK(MPI_Wait(&requests[0], &statuses[0]));
  CHECK(requests[0] == MPI_REQUEST_NULL);
  CHECK_OK(MPI_Rget(&got[0], 1, MPI_INT, next, 0, 1, MPI_INT, win, &requests[0]));
  CHECK_OK(MPI_Waitany(1, requests, &index, &statuses[0]));
  CHECK_EQUAL(index, 0);
  CHECK_EQUAL(got[0], rank);
  CHECK_OK(MPI_Raccumulate(&values[1], 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win, &requests[0]));
  while (!done) CHECK_OK(MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Rget_accumulate(&values[2], 1, MPI_INT, &got[1], 1, MPI_INT, next, 0, 1, MPI_INT, MPI_MAX, win, &requests[0]));
  CHECK_OK(MPI_Rget_accumulate_c(NULL, 0, MPI_INT, &got[2], 1, MPI_INT, next, 0, 1, MPI_INT, MPI_NO_OP, win, &requests[1]));
  CHECK_OK(MPI_Rget_c(&got[3], 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &requests[2]));
  CHECK_OK(MPI_Rput_c(&values[3], 1, MPI_INT, next, 1, 1, MPI_INT, win, &requests[3]));
  CHECK_OK(MPI_Waitall(4, requests, statuses));
  CHECK_EQUAL(got[1], 2 * rank + 1);
  CHECK_EQUAL(got[2], 2 * rank + 1 > rank + 2 ? 2 * rank + 1 : rank + 2);
  CHECK_EQUAL(got[3], -1);
  CHECK_OK(MPI_Raccumulate_c(&values[3], 1, MPI_INT, next, 1, 1, MPI_INT, MPI_PROD, win, &requests[0]));
  CHECK_OK(MPI_Waitsome(1, requests, &done, &index, statuses));
  CHECK_EQUAL(done, 1);
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int left = (rank + size - 1) % size;
  CHECK_EQUAL(memory[1], (left + 3) * (left + 3));

  // A word that one rank stores and the next looks at until it sees it.
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOCHECK, win));
  int flag = 1;
  CHECK_OK(MPI_Accumulate(&flag, 1, MPI_INT, next, 2, 1, MPI_INT, MPI_REPLACE, win));
  CHECK_OK(MPI_Win_flush(next, win));
  CHECK_OK(MPI_Win_unlock(next, win));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  for (flag = 0; flag == 0;) {
    CHECK_OK(MPI_Fetch_and_op(NULL, &flag, MPI_INT, rank, 2, MPI_NO_OP, win));
    CHECK_OK(MPI_Win_flush(rank, win));
    CHECK_OK(MPI_Win_sync(win));
  }
  CHECK_OK(MPI_Win_unlock(rank, win));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win));
  CHECK_OK(MPI_Win_unlock(MPI_PROC_NULL, win));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
