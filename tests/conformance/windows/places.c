// Where operations may reach: nothing at all, the same place several times, places below their displacement, memory of the window
// on both sides; and which of several accumulates from one rank to a place is the last.
// weft-test: part=threads,processes,mixed
#include "check.h"

enum { MANY = 24 };

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, *mine, got[4][MANY], source[MANY];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int right = (check_rank + 1) % size, left = (check_rank + size - 1) % size;
  MPI_Win win, empty;
  CHECK_OK(MPI_Win_allocate(2 * MANY * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  CHECK_OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &empty));
  for (int i = 0; i < 2 * MANY; i++) mine[i] = 1000 * check_rank + i;
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Win_fence(0, empty));

  // Nothing, at any place of a window, the one behind its end among them.
  for (int at = 0; at <= 2 * MANY; at += MANY) {
    CHECK_OK(MPI_Put(NULL, 0, MPI_INT, right, at, 0, MPI_INT, win));
    CHECK_OK(MPI_Get(NULL, 0, MPI_INT, right, at, 0, MPI_INT, win));
    CHECK_OK(MPI_Accumulate(NULL, 0, MPI_INT, right, at, 0, MPI_INT, MPI_SUM, win));
    CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_INT, right, at, 0, MPI_INT, MPI_REPLACE, win));
  }
  CHECK_OK(MPI_Put(source, 0, MPI_INT, right, 0, 0, MPI_INT, empty));
  CHECK_OK(MPI_Get(got, 0, MPI_INT, right, 0, 0, MPI_INT, empty));

  // Gets of the same and of overlapping places.
  CHECK_OK(MPI_Get(got[0], MANY, MPI_INT, right, 0, MANY, MPI_INT, win));
  CHECK_OK(MPI_Get(got[1], MANY, MPI_INT, right, 0, MANY, MPI_INT, win));
  CHECK_OK(MPI_Get(got[2], MANY, MPI_INT, right, 5, MANY, MPI_INT, win));
  CHECK_OK(MPI_Get(got[3], MANY, MPI_INT, left, 7, MANY, MPI_INT, win));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < MANY; i++) {
    CHECK_EQUAL(got[0][i], 1000 * right + i);
    CHECK_EQUAL(got[1][i], 1000 * right + i);
    CHECK_EQUAL(got[2][i], 1000 * right + i + 5);
    CHECK_EQUAL(got[3][i], 1000 * left + i + 7);
  }

  // From this rank's window into another's, by a type that begins below its displacement, and is freed before the data has moved.
  MPI_Datatype below;
  int lengths[2] = {3, 3}, places[2] = {-3, 3};
  CHECK_OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &below));
  CHECK_OK(MPI_Type_commit(&below));
  CHECK_OK(MPI_Put(mine, 6, MPI_INT, right, MANY + 3, 1, below, win));
  CHECK_OK(MPI_Type_free(&below));
  CHECK_OK(MPI_Win_fence(0, win));
  for (int i = 0; i < 9; i++) {
    int is_gap = i >= 3 && i < 6;
    CHECK_EQUAL(mine[MANY + i], is_gap ? 1000 * check_rank + MANY + i : 1000 * left + (i < 3 ? i : i - 3));
  }
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

  // Accumulates from one rank to a place take place in their order, and each returns what the one before has left.
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
  for (int turn = 0; turn < 3; turn++) {
    for (int i = 0; i < MANY; i++) source[i] = 100 * turn + i;
    CHECK_OK(MPI_Get_accumulate(source, MANY, MPI_INT, got[turn], MANY, MPI_INT, right, MANY, MANY, MPI_INT, MPI_REPLACE, win));
    CHECK_OK(MPI_Win_flush_local(right, win));
  }
  CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, got[3], MANY, MPI_INT, right, MANY, MANY, MPI_INT, MPI_NO_OP, win));
  CHECK_OK(MPI_Win_unlock(right, win));
  for (int turn = 1; turn < 4; turn++)
    for (int i = 0; i < MANY; i++) CHECK_EQUAL(got[turn][i], 100 * (turn - 1) + i);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
  for (int i = 0; i < MANY; i++) CHECK_EQUAL(mine[MANY + i], 200 + i);
  CHECK_OK(MPI_Win_unlock(check_rank, win));

  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, empty));
  CHECK_OK(MPI_Win_free(&empty));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
