// A rank that calls MPI_Win_sync, MPI_Win_flush at itself, or MPI_Win_test until something has come goes on with what comes and with
// what it has told others itself, and lets others run.
#include "check.h"

enum { ROUNDS = 20 };

// Hands a turn from rank to rank: each looks at its own memory until its turn has come.
static void turns(int rank, int size) {
  int *turn;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &turn, &win));
  *turn = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int round = 1; round <= ROUNDS; round++) {
    int next = (rank + 1) % size, value = rank + 1 < size ? round : round + 1;
    while (*(volatile int *)turn < round && !(rank == 0 && round == 1)) CHECK_OK(MPI_Win_sync(win));
    CHECK_OK(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_REPLACE, win));
    CHECK_OK(MPI_Win_flush(next, win));
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*turn == (rank ? ROUNDS : ROUNDS + 1));
  CHECK_OK(MPI_Win_free(&win));
}

// The same, but who has handed over does not complete that before it looks for its next turn; and it looks by an operation at itself.
static void unfinished_turns(int rank, int size) {
  int *turn, seen, nothing = 0;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &turn, &win));
  *turn = rank == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int round = 1; round <= ROUNDS; round++) {
    int next = (rank + 1) % size, value = rank + 1 < size ? round : round + 1;
    do {
      CHECK_OK(MPI_Fetch_and_op(&nothing, &seen, MPI_INT, rank, 0, MPI_NO_OP, win));
      CHECK_OK(MPI_Win_flush(rank, win));
    } while (seen < round);
    CHECK_OK(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_REPLACE, win));
    if (round % 2) while (*(volatile int *)turn < round + (round < ROUNDS)) CHECK_OK(MPI_Win_sync(win));
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*turn == (rank ? ROUNDS : ROUNDS + 1));
  CHECK_OK(MPI_Win_free(&win));
}

// All others change rank 0's memory while it does nothing but test.
static void tests(int rank, int size) {
  int *sum, one = 1;
  MPI_Win win;
  MPI_Group all, others, first;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &sum, &win));
  *sum = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, 1, &(int){0}, &others);
  MPI_Group_incl(all, 1, &(int){0}, &first);
  for (int round = 1; round <= ROUNDS; round++) {
    if (rank == 0) {
      int over = 0;
      CHECK_OK(MPI_Win_post(others, 0, win));
      while (!over) CHECK_OK(MPI_Win_test(win, &over));
      CHECK(*sum == round * (size - 1));
    } else {
      CHECK_OK(MPI_Win_start(first, 0, win));
      CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
      CHECK_OK(MPI_Win_complete(win));
    }
  }
  MPI_Group_free(&all);
  MPI_Group_free(&others);
  MPI_Group_free(&first);
  CHECK_OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  turns(rank, size);
  unfinished_turns(rank, size);
  tests(rank, size);
  return check_end();
}
