// Windows whose memory all ranks of a host see, whatever processes they are in: loads, stores and the processor's atomics meet one-sided
// operations of others on the same elements, and elements without instructions are as atomic as the others.
// weft-test: among=host
#include "check.h"
#include <stddef.h>
#include <stdint.h>

enum { ROUNDS = 200 };

struct part {
  long flag, count;
  double sum;
  struct { double value; int rank; } most;
  long double wide;
  double complex_sum[2];
  char rest[64];
};

static int size;

// Each rank stores for its neighbour, and sees what the other one has stored for it, without a call but MPI_Win_sync.
static void pass_on(MPI_Win win, struct part *mine, struct part *next) {
  CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int i = 1; i <= 20; i++) {
    __atomic_store_n(&next->flag, i, __ATOMIC_RELEASE);
    while (__atomic_load_n(&mine->flag, __ATOMIC_ACQUIRE) < i) CHECK_OK(MPI_Win_sync(win));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_Win_unlock_all(win));
}

// All ranks change the same elements at rank 0, by all kinds of operations.
static void add_up(MPI_Win win, struct part *first) {
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < ROUNDS; i++) {
    long one = 1, old;
    double half = 0.5, both[2] = {1, -1};
    long double wide = 1;
    struct { double value; int rank; } mine = {check_rank + i, check_rank};
#define AT(member) 0, offsetof(struct part, member)
    CHECK_OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, AT(count), MPI_SUM, win));
    __atomic_fetch_add(&first->count, 1, __ATOMIC_RELAXED);
    CHECK_OK(MPI_Accumulate(&half, 1, MPI_DOUBLE, AT(sum), 1, MPI_DOUBLE, MPI_SUM, win));
    CHECK_OK(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, AT(most), 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    CHECK_OK(MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE, AT(wide), 1, MPI_LONG_DOUBLE, MPI_SUM, win));
    CHECK_OK(MPI_Accumulate(both, 1, MPI_C_DOUBLE_COMPLEX, AT(complex_sum), 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, win));
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQUAL(first->count, 2L * ROUNDS * size);
  CHECK(first->sum == 0.5 * ROUNDS * size);
  CHECK(first->most.value == size + ROUNDS - 2 && first->most.rank == size - 1);
  CHECK(first->wide == (long double)ROUNDS * size);
  CHECK(first->complex_sum[0] == (double)ROUNDS * size && first->complex_sum[1] == -(double)ROUNDS * size);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// A lock keeps others out of what its holder loads and stores.
static void exclude(MPI_Win win, struct part *first) {
  long before = first->count;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 20; i++) {
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    volatile long *count = &first->count;
    *count = *count + 1;
    CHECK_OK(MPI_Win_unlock(0, win));
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQUAL(first->count, before + 20 * size);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// What is put in an epoch is there after it; what is out of range is refused by the call.
static void put(MPI_Win win, struct part *mine) {
  int next = (check_rank + 1) % size;
  long values[8], got[8];
  for (int i = 0; i < 8; i++) values[i] = 100 * check_rank + i;
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Put(values, 8, MPI_LONG, next, offsetof(struct part, rest), 64, MPI_BYTE, win));
  CHECK_OK(MPI_Win_fence(0, win));
  memcpy(got, mine->rest, sizeof got);
  for (int i = 0; i < 8; i++) CHECK_EQUAL(got[i], 100 * ((check_rank + size - 1) % size) + i);
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Get(got, 8, MPI_LONG, next, offsetof(struct part, rest), 8, MPI_LONG, win));
  CHECK_CLASS(MPI_Put(values, 8, MPI_LONG, next, sizeof(struct part) - 8, 8, MPI_LONG, win), MPI_ERR_RMA_RANGE);
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  for (int i = 0; i < 8; i++) CHECK_EQUAL(got[i], 100 * check_rank + i);
}

static void work(MPI_Win win, struct part *mine) {
  struct part *first, *next;
  MPI_Aint extent;
  int unit;
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  memset(mine, 0, sizeof *mine);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_shared_query(win, 0, &extent, &unit, &first));
  CHECK_EQUAL(extent, sizeof *first);
  CHECK_OK(MPI_Win_shared_query(win, (check_rank + 1) % size, &extent, &unit, &next));
  CHECK_EQUAL(extent, sizeof *next);
  pass_on(win, mine, next);
  add_up(win, first);
  exclude(win, first);
  put(win, mine);
  CHECK_OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm host;
  int together;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  CHECK_OK(MPI_Comm_size(host, &together));
  CHECK_EQUAL(together, size);
  CHECK_OK(MPI_Comm_free(&host));
  MPI_Win win;
  struct part *mine;
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "16384"));
  CHECK_OK(MPI_Win_allocate_shared(sizeof *mine, 1, info, MPI_COMM_WORLD, &mine, &win));
  if (check_rank == 0) CHECK_EQUAL((uintptr_t)mine % 16384, 0);
  work(win, mine);
  CHECK_OK(MPI_Win_allocate(sizeof *mine, 1, info, MPI_COMM_WORLD, &mine, &win));
  CHECK_EQUAL((uintptr_t)mine % 16384, 0);
  work(win, mine);
  CHECK_OK(MPI_Info_free(&info));
  // There is no memory for that; nobody goes on as if there were.
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Win_allocate_shared((MPI_Aint)1 << 50, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win), MPI_ERR_NO_MEM);
  CHECK_CLASS(MPI_Win_allocate((MPI_Aint)1 << 50, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win), MPI_ERR_NO_MEM);
  return check_end();
}
