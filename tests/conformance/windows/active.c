// General active target synchronisation: groups that change, early posts, several epochs in a row, empty groups, test, assertions.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Group all, to, from;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  int *memory;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));

  // A ring whose step changes: everybody is origin and target at once.
  for (int step = 0; step < 2 * size; step++) {
    int right = (rank + step) % size, left = (rank + size - step % size) % size, value = 1000 * step + rank;
    CHECK_OK(MPI_Group_incl(all, 1, &right, &to));
    CHECK_OK(MPI_Group_incl(all, 1, &left, &from));
    CHECK_OK(MPI_Win_post(from, step % 2 ? MPI_MODE_NOSTORE : 0, win));
    CHECK_OK(MPI_Win_start(to, 0, win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, right, rank, 1, MPI_INT, win));
    CHECK_OK(MPI_Win_complete(win));
    CHECK_OK(MPI_Win_wait(win));
    CHECK_EQUAL(memory[left], 1000 * step + left);
    CHECK_OK(MPI_Group_free(&to));
    CHECK_OK(MPI_Group_free(&from));
  }

  // All to rank 0, which tests; it exposes its memory before others begin, or after.
  for (int round = 0; round < 4; round++) {
    int zero = 0, one = 1, over = 0;
    if (rank == 0) memset(memory, 0, size * sizeof(int));
    if (rank == 0 && round % 2) CHECK_OK(MPI_Win_post(all, MPI_MODE_NOPUT, win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0 && round % 2 == 0) CHECK_OK(MPI_Win_post(all, 0, win));
    CHECK_OK(MPI_Group_incl(all, 1, &zero, &to));
    CHECK_OK(MPI_Win_start(to, 0, win));
    for (int i = 0; i < size; i++) CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT, 0, i, 1, MPI_INT, MPI_SUM, win));
    CHECK_OK(MPI_Win_complete(win));
    CHECK_OK(MPI_Group_free(&to));
    if (rank == 0) {
      while (!over) CHECK_OK(MPI_Win_test(win, &over));
      for (int i = 0; i < size; i++) CHECK_EQUAL(memory[i], size);
    }
  }

  // Nobody, and a promise instead of a handshake.
  CHECK_OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
  CHECK_OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
  CHECK_OK(MPI_Win_complete(win));
  CHECK_OK(MPI_Win_wait(win));
  memory[0] = -1;
  CHECK_OK(MPI_Win_post(all, MPI_MODE_NOCHECK, win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_start(all, MPI_MODE_NOCHECK, win));
  for (int i = 0; i < size; i++) CHECK_OK(MPI_Put(&rank, 1, MPI_INT, i, rank, 1, MPI_INT, win));
  CHECK_OK(MPI_Win_complete(win));
  CHECK_OK(MPI_Win_wait(win));
  for (int i = 0; i < size; i++) CHECK_EQUAL(memory[i], i);

  CHECK_OK(MPI_Group_free(&all));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
