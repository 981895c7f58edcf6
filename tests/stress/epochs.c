// Many epochs in a row between groups that change, windows that come and go, memory that is attached and detached, and several
// threads of each rank that complete operations at once.
//
// usage: epochs SEED ROUNDS THREADS
#include "check.h"
#include <pthread.h>
#include <stdint.h>

static int size, rounds, threads;
static unsigned seed;

// The same numbers on all ranks.
static unsigned drawn(unsigned a, unsigned b, unsigned c) {
  uint64_t x = ((uint64_t)seed << 40) ^ ((uint64_t)a << 26) ^ ((uint64_t)b << 13) ^ c;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (unsigned)(x >> 33);
}

static MPI_Group group_of(const int *members) {
  MPI_Group all, some;
  int *list = malloc(sizeof *list * (size_t)size), count = 0;
  for (int r = 0; r < size; r++)
    if (members[r]) list[count++] = r;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  CHECK_OK(MPI_Group_incl(all, count, list, &some));
  CHECK_OK(MPI_Group_free(&all));
  free(list);
  return some;
}

// Who reaches whom changes from epoch to epoch, and nobody waits for others than those.
static void groups(void) {
  int64_t *mine;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(8 * size, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  memset(mine, 0, 8 * (size_t)size);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int *targets = malloc(sizeof *targets * (size_t)size), *origins = malloc(sizeof *origins * (size_t)size);
  for (int i = 0; i < rounds; i++) {
    for (int r = 0; r < size; r++) {
      // A ring, a few, or nobody.
      unsigned kind = drawn(1, (unsigned)i, 0) % 4;
      targets[r] = kind == 0 ? r == (check_rank + 1) % size : kind < 3 && drawn(2 + (unsigned)i, (unsigned)check_rank, (unsigned)r) % 3 == 0;
      origins[r] = kind == 0 ? check_rank == (r + 1) % size : kind < 3 && drawn(2 + (unsigned)i, (unsigned)r, (unsigned)check_rank) % 3 == 0;
    }
    MPI_Group to = group_of(targets), from = group_of(origins);
    CHECK_OK(MPI_Win_post(from, 0, win));
    CHECK_OK(MPI_Win_start(to, 0, win));
    int64_t value = i + 1;
    for (int r = 0; r < size; r++)
      if (targets[r]) CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, r, check_rank, 1, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_complete(win));
    int flag = 0;
    for (int tries = i % 3; tries > 0 && !flag; tries--) CHECK_OK(MPI_Win_test(win, &flag));
    if (!flag) CHECK_OK(MPI_Win_wait(win));
    // Nobody changes it between wait and post.
    for (int r = 0; r < size; r++)
      if (origins[r]) CHECK_EQUAL(mine[r], i + 1);
    MPI_Group_free(&to), MPI_Group_free(&from);
  }
  CHECK_OK(MPI_Win_free(&win));
  free(targets), free(origins);
}

// Windows are made and freed in different orders, several at a time, and used in between.
static void churn(void) {
  enum { MANY = 5 };
  MPI_Win wins[MANY];
  int *bases[MANY], numbers[MANY];
  for (int i = 0; i < rounds; i++) {
    int count = 1 + (int)(drawn(900, (unsigned)i, 0) % MANY);
    for (int w = 0; w < count; w++) {
      bases[w] = &numbers[w];
      if (drawn(901, (unsigned)i, (unsigned)w) % 2)
        CHECK_OK(MPI_Win_create(bases[w], sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &wins[w]));
      else
        CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &bases[w], &wins[w]));
      *bases[w] = -1;
    }
    int next = (check_rank + 1) % size;
    for (int w = 0; w < count; w++) CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, wins[w]));
    for (int w = 0; w < count; w++) {
      int value = 100 * w + check_rank;
      CHECK_OK(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_REPLACE, wins[w]));
      // The buffer is this rank's until the fence.
      CHECK_OK(MPI_Win_fence(0, wins[w]));
      CHECK_EQUAL(*bases[w], 100 * w + (check_rank + size - 1) % size);
    }
    for (int w = count; w-- > 0;) CHECK_OK(MPI_Win_free(&wins[(w + i) % count]));
  }
}

// Memory of a dynamic window comes and goes, while others reach what is attached.
static void attachments(void) {
  MPI_Win win;
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Aint *places = malloc(sizeof *places * (size_t)size);
  for (int i = 0; i < rounds; i++) {
    int64_t *block[3];
    for (int b = 0; b < 3; b++) {
      size_t bytes = 64 * (1 + drawn(77, (unsigned)i, (unsigned)b) % 50);
      block[b] = calloc(1, bytes);
      CHECK_OK(MPI_Win_attach(win, block[b], (MPI_Aint)bytes));
    }
    int chosen = i % 3;
    MPI_Aint place;
    CHECK_OK(MPI_Get_address(block[chosen], &place));
    CHECK_OK(MPI_Allgather(&place, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD));
    for (int b = 0; b < 3; b++)
      if (b != chosen) CHECK_OK(MPI_Win_detach(win, block[b]));
    int target = (check_rank + i) % size;
    int64_t one = check_rank + 1, sum = 0;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, target, MPI_Aint_add(places[target], 8), 1, MPI_INT64_T, MPI_SUM, win));
    CHECK_OK(MPI_Win_unlock(target, win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    sum = (check_rank - i % size + size) % size + 1;
    CHECK_EQUAL(block[chosen][1], sum);
    CHECK_OK(MPI_Win_detach(win, block[chosen]));
    for (int b = 0; b < 3; b++) free(block[b]);
  }
  CHECK_OK(MPI_Win_free(&win));
  free(places);
}

// Threads of a rank share an epoch; each completes what it has done, and flushes of others do not hurt.
static MPI_Win common;
static void *thread(void *number) {
  int64_t me = (int64_t)(intptr_t)number;
  for (int i = 0; i < rounds; i++) {
    int target = (int)(drawn(500 + (unsigned)me, (unsigned)i, (unsigned)check_rank) % (unsigned)size);
    MPI_Aint place = 1 + check_rank * threads + me;
    int64_t value = i, seen = -1, one = 1, before;
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, common));
    CHECK_OK(i % 2 ? MPI_Win_flush(target, common) : MPI_Win_flush_all(common));
    if (i % 4 == 0) {
      MPI_Request request;
      CHECK_OK(MPI_Rget(&seen, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, common, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      CHECK_OK(MPI_Get(&seen, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, common));
      CHECK_OK(MPI_Win_flush_local(target, common));
    }
    CHECK_EQUAL(seen, i);
    CHECK_OK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, common));
  }
  CHECK_OK(MPI_Win_flush_all(common));
  return NULL;
}
static void flushes(void) {
  int64_t *mine, all;
  CHECK_OK(MPI_Win_allocate(8 * (1 + size * threads), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &common));
  memset(mine, 0, 8 * (size_t)(1 + size * threads));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, common));
  pthread_t *others = malloc(sizeof *others * (size_t)threads);
  for (int i = 1; i < threads; i++) pthread_create(&others[i], NULL, thread, (void *)(intptr_t)i);
  thread(NULL);
  for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
  CHECK_OK(MPI_Win_unlock_all(common));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&mine[0], &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(all, (int64_t)rounds * size * threads);
  CHECK_OK(MPI_Win_free(&common));
  free(others);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  rounds = argc > 2 ? atoi(argv[2]) : 100;
  threads = argc > 3 ? atoi(argv[3]) : 2;
  groups();
  churn();
  attachments();
  flushes();
  return check_end();
}
