// Locks made of one-sided operations, and those that windows have: an MCS lock by compare_and_swap, readers and writers by
// shared and exclusive locks, and a queue of work that others steal from.
//
// usage: locks SEED ROUNDS
#include "check.h"
#include <sched.h>
#include <stdint.h>

static int size, rounds;
static uint64_t state;

static unsigned next_random(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33);
}

static MPI_Win make(MPI_Aint bytes, int64_t **mine) {
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, mine, &win));
  memset(*mine, 0, (size_t)bytes);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  return win;
}

static int64_t fetch(MPI_Op op, int64_t value, int target, MPI_Aint at, MPI_Win win) {
  int64_t before;
  CHECK_OK(MPI_Fetch_and_op(&value, &before, MPI_INT64_T, target, at, op, win));
  CHECK_OK(MPI_Win_flush(target, win));
  return before;
}
static int64_t swap_if(int64_t expected, int64_t value, int target, MPI_Aint at, MPI_Win win) {
  int64_t before;
  CHECK_OK(MPI_Compare_and_swap(&value, &expected, &before, MPI_INT64_T, target, at, win));
  CHECK_OK(MPI_Win_flush(target, win));
  return before;
}

// A lock with a queue: the last in line at rank 0; each rank's own place says who comes next and whether it must wait.
// Reference: Mellor-Crummey and Scott, Algorithms for scalable synchronization on shared-memory multiprocessors, 1991.
enum { TAIL = 0, NEXT = 1, MUST_WAIT = 2, COUNTER = 3 };
static void mcs(void) {
  int64_t *mine, all = (int64_t)rounds * size;
  MPI_Win win = make(4 * 8, &mine);
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < rounds; i++) {
    int64_t me = check_rank + 1;
    fetch(MPI_REPLACE, 0, check_rank, NEXT, win);
    fetch(MPI_REPLACE, 1, check_rank, MUST_WAIT, win);
    int64_t before = fetch(MPI_REPLACE, me, 0, TAIL, win);
    if (before) {
      fetch(MPI_REPLACE, me, (int)before - 1, NEXT, win);
      while (fetch(MPI_NO_OP, 0, check_rank, MUST_WAIT, win)) sched_yield();
    }
    // Not atomic by itself.
    int64_t value;
    CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, 0, COUNTER, 1, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(0, win));
    value++;
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, 0, COUNTER, 1, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(0, win));
    int64_t next = fetch(MPI_NO_OP, 0, check_rank, NEXT, win);
    if (!next && swap_if(me, 0, 0, TAIL, win) == me) continue;
    while (!(next = fetch(MPI_NO_OP, 0, check_rank, NEXT, win))) sched_yield();
    fetch(MPI_REPLACE, 0, (int)next - 1, MUST_WAIT, win);
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (check_rank == 0) CHECK_EQUAL(mine[COUNTER], all);
  CHECK_OK(MPI_Win_free(&win));
}

// Writers change all words of a target under an exclusive lock; readers, who hold a shared one, find them alike. Readers go on
// until all writers are done, so that writers who are never let in are a run without an end; and the other way round.
enum { WORDS = 40 };
static void readers_and_writers(int is_reader_last) {
  int64_t *mine, seen[WORDS];
  MPI_Win win = make(WORDS * 8, &mine);
  int64_t *done;
  MPI_Win finished = make(8, &done);
  int writers = (size + 1) / 2, is_writer = check_rank < writers;
  int counts = is_reader_last ? is_writer : !is_writer, those = is_reader_last ? writers : size - writers;
  CHECK_OK(MPI_Win_lock_all(0, finished));
  for (int i = 0; counts ? i < rounds : fetch(MPI_NO_OP, 0, 0, 0, finished) < those; i++) {
    int target = (int)(next_random() % (unsigned)(size > 2 ? 2 : 1));
    CHECK_OK(MPI_Win_lock(is_writer ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win));
    CHECK_OK(MPI_Get(seen, WORDS, MPI_INT64_T, target, 0, WORDS, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(target, win));
    for (int k = 1; k < WORDS; k++) CHECK(seen[k] == seen[0]);
    if (is_writer) {
      for (int k = 0; k < WORDS; k++) seen[k]++;
      CHECK_OK(MPI_Put(seen, WORDS / 2, MPI_INT64_T, target, 0, WORDS / 2, MPI_INT64_T, win));
      CHECK_OK(MPI_Put(seen + WORDS / 2, WORDS / 2, MPI_INT64_T, target, WORDS / 2, WORDS / 2, MPI_INT64_T, win));
    }
    CHECK_OK(MPI_Win_unlock(target, win));
  }
  if (counts) fetch(MPI_SUM, 1, 0, 0, finished);
  CHECK_OK(MPI_Win_unlock_all(finished));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int64_t changes = mine[0], all;
  CHECK_OK(MPI_Allreduce(&changes, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (is_reader_last) CHECK_EQUAL(all, (int64_t)writers * rounds);
  CHECK_OK(MPI_Win_free(&finished));
  CHECK_OK(MPI_Win_free(&win));
}

// Each rank has a list of tasks and a place where the next is taken from, by itself and by others whose lists are empty. A task is
// done once.
static void stealing(void) {
  int64_t *mine, tasks = rounds;
  MPI_Win win = make(8 * (2 + tasks), &mine);
  // Some have much more to do than others.
  mine[1] = check_rank % 2 ? tasks / 8 : tasks;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, win));
  int64_t total = 0, all;
  for (int step = 0; step < size; step++) {
    int victim = (check_rank + step) % size;
    int64_t end = fetch(MPI_NO_OP, 0, victim, 1, win);
    for (;;) {
      int64_t task = fetch(MPI_SUM, 1, victim, 0, win), one = 1;
      if (task >= end) break;
      CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, victim, 2 + task, 1, MPI_INT64_T, MPI_SUM, win));
      total++;
    }
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int64_t i = 0; i < tasks; i++) CHECK(mine[2 + i] == (i < mine[1]));
  int64_t wanted = mine[1], all_wanted;
  CHECK_OK(MPI_Allreduce(&total, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&wanted, &all_wanted, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(all, all_wanted);
  CHECK_OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) * 4241u + (unsigned)check_rank;
  rounds = argc > 2 ? atoi(argv[2]) : 100;
  mcs();
  readers_and_writers(1);
  readers_and_writers(0);
  stealing();
  return check_end();
}
