// Elements of every kind that all ranks change at once, by fetch_and_op, accumulate, get_accumulate and compare_and_swap mixed:
// no change is lost, no two ranks fetch the same ticket, and nobody sees half of an element.
//
// usage: atomics SEED ROUNDS
#include "check.h"
#include <complex.h>
#include <stdint.h>

static int size, rounds;
static uint64_t state;

static unsigned next_random(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33);
}

// Combines a value with one of a target's part in one of several ways.
static void add(const void *value, MPI_Datatype type, MPI_Op op, int target, MPI_Aint displacement, MPI_Win win) {
  char before[64];
  switch (next_random() % 3) {
    case 0: CHECK_OK(MPI_Accumulate(value, 1, type, target, displacement, 1, type, op, win)); break;
    case 1: CHECK_OK(MPI_Fetch_and_op(value, before, type, target, displacement, op, win)); break;
    default: CHECK_OK(MPI_Get_accumulate(value, 1, type, before, 1, type, target, displacement, 1, type, op, win));
  }
  if (next_random() % 4 == 0) CHECK_OK(MPI_Win_flush_local(target, win));
  CHECK_OK(MPI_Win_flush(target, win));
}

// Sums of integers of every size, some of them at odd places.
#define SUMS(NAME, TYPE, HANDLE)                                                                              \
  static void NAME(MPI_Win win, char *mine, int odd) {                                                        \
    long *sent = calloc((size_t)size, sizeof *sent), *all = calloc((size_t)size, sizeof *all);                \
    memset(mine, 0, 64);                                                                                      \
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));                                                                    \
    CHECK_OK(MPI_Win_lock_all(0, win));                                                                       \
    for (int i = 0; i < rounds; i++) {                                                                        \
      int target = (int)(next_random() % (unsigned)size);                                                     \
      TYPE value = (TYPE)(1 + i % 3);                                                                         \
      sent[target] += 1 + i % 3;                                                                              \
      add(&value, HANDLE, MPI_SUM, target, odd, win);                                      \
    }                                                                                                         \
    CHECK_OK(MPI_Win_unlock_all(win));                                                                        \
    CHECK_OK(MPI_Allreduce(sent, all, size, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));                              \
    TYPE found;                                                                                               \
    memcpy(&found, mine + odd, sizeof found);                                                                 \
    CHECK(found == (TYPE)all[check_rank]);                                                                    \
    for (int i = 0; i < 64; i++) CHECK((i >= odd && i < odd + (int)sizeof found) || mine[i] == 0);            \
    free(sent), free(all);                                                                                    \
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));                                                                    \
  }
SUMS(sums_1, uint8_t, MPI_UINT8_T)
SUMS(sums_2, uint16_t, MPI_UINT16_T)
SUMS(sums_4, uint32_t, MPI_UINT32_T)
SUMS(sums_8, int64_t, MPI_INT64_T)
SUMS(sums_float, float, MPI_FLOAT)
SUMS(sums_double, double, MPI_DOUBLE)
SUMS(sums_complex, double _Complex, MPI_C_DOUBLE_COMPLEX)

// Sums of numbers whose bytes are not all values, which are compared as numbers.
static void sums_long_double(MPI_Win win, char *mine, int odd) {
  long sent = 0, all = 0;
  memset(mine, 0, 64);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < rounds; i++) {
    long double value = 1 + i % 3;
    sent += 1 + i % 3;
    add(&value, MPI_LONG_DOUBLE, MPI_SUM, 0, odd, win);
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Allreduce(&sent, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  long double found;
  memcpy(&found, mine + odd, sizeof found);
  if (check_rank == 0) CHECK_EQUAL(found, all);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Both halves of an element are changed at once: a complex number whose parts are equal, and pairs whose index follows from
// their value.
static void halves(MPI_Win win, char *mine) {
  struct { double value; int index; } none = {-1, 7};
  memset(mine, 0, 64);
  memcpy(mine + 32, &none, sizeof none);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < rounds; i++) {
    int target = (int)(next_random() % (unsigned)size);
    double _Complex value = (1 + i % 5) * (1 + I), seen;
    add(&value, MPI_C_DOUBLE_COMPLEX, MPI_SUM, target, 0, win);
    CHECK_OK(MPI_Fetch_and_op(NULL, &seen, MPI_C_DOUBLE_COMPLEX, target, 0, MPI_NO_OP, win));
    int high = (int)(next_random() % 1000000);
    struct { double value; int index; } pair = {high, -high}, largest = {-5, -5};
    CHECK_OK(MPI_Win_flush(target, win));
    CHECK(creal(seen) == cimag(seen));
    CHECK_OK(MPI_Get_accumulate(&pair, 1, MPI_DOUBLE_INT, &largest, 1, MPI_DOUBLE_INT, target, 32, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    CHECK_OK(MPI_Win_flush(target, win));
    CHECK(largest.value == -1 ? largest.index == 7 : largest.value == -largest.index);
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Tickets: every number is drawn once, whether by addition or by a loop of compare_and_swap.
static void tickets(MPI_Win win, char *mine) {
  int many = rounds * size;
  memset(mine, 0, 64);
  char *taken = calloc((size_t)many, 1), *all = calloc((size_t)many, 1);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int i = 0; i < rounds; i++) {
    int64_t one = 1, ticket = 0;
    if (next_random() % 2) {
      CHECK_OK(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, size - 1, 8, MPI_SUM, win));
      CHECK_OK(MPI_Win_flush(size - 1, win));
    } else {
      int64_t seen = 0, next;
      do {
        ticket = seen, next = seen + 1;
        CHECK_OK(MPI_Compare_and_swap(&next, &ticket, &seen, MPI_INT64_T, size - 1, 8, win));
        CHECK_OK(MPI_Win_flush(size - 1, win));
      } while (seen != ticket);
    }
    CHECK(ticket >= 0 && ticket < many);
    if (ticket >= 0 && ticket < many) taken[ticket]++;
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Allreduce(taken, all, many, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < many; i++) CHECK(all[i] == 1);
  free(taken), free(all);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) * 977u + (unsigned)check_rank;
  rounds = argc > 2 ? atoi(argv[2]) : 100;
  for (int way = 0; way < 2; way++) {
    char *mine = NULL;
    MPI_Win win;
    if (way == 0) {
      CHECK_OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
    } else {
      mine = aligned_alloc(64, 64);
      CHECK_OK(MPI_Win_create(mine, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    for (int odd = 0; odd < 8; odd += 3) {
      sums_1(win, mine, odd);
      sums_2(win, mine, odd);
      sums_4(win, mine, odd);
      sums_8(win, mine, odd);
      sums_float(win, mine, odd);
      sums_double(win, mine, odd);
      sums_complex(win, mine, odd);
      sums_long_double(win, mine, odd);
    }
    halves(win, mine);
    tickets(win, mine);
    CHECK_OK(MPI_Win_free(&win));
    if (way == 1) free(mine);
  }
  return check_end();
}
