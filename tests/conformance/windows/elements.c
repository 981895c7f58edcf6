// Accumulate functions are atomic for every element, whichever function, operation, alignment and size: elements that processors
// have instructions for, larger ones, and pairs. All ranks change the same ones, half of them by another function.
// weft-test: part=threads,processes,mixed
#include "check.h"
#include <complex.h>
#include <stddef.h>
#include <stdint.h>

enum { ROUNDS = 200 };

typedef struct {
  short value;
  int index;
} short_int;

typedef struct {
  long double value;
  int index;
} long_double_int;

static int rank, size;
static char *memory;
static MPI_Win win;

// Adds ones of a type at a displacement, by all functions that can.
static void count(MPI_Datatype type, const void *one, MPI_Aint at) {
  char former[32];
  MPI_Win_fence(0, win);
  for (int i = 0; i < ROUNDS; i++) {
    switch ((i + rank) % 3) {
    case 0: CHECK_OK(MPI_Accumulate(one, 1, type, 0, at, 1, type, MPI_SUM, win)); break;
    case 1: CHECK_OK(MPI_Fetch_and_op(one, former, type, 0, at, MPI_SUM, win)); break;
    default: CHECK_OK(MPI_Get_accumulate(one, 1, type, former, 1, type, 0, at, 1, type, MPI_SUM, win));
    }
  }
  MPI_Win_fence(0, win);
}

#define COUNT(ctype, type, at)                                                                                         \
  do {                                                                                                                 \
    ctype one = 1, result;                                                                                             \
    if (rank == 0) memset(memory, 0, 256);                                                                             \
    count(type, &one, at);                                                                                             \
    memcpy(&result, memory + (at), sizeof result);                                                                     \
    if (rank == 0) CHECK(result == (ctype)(size * ROUNDS));                                                            \
  } while (0)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Win_allocate(rank == 0 ? 256 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));

  COUNT(uint8_t, MPI_UINT8_T, 3);
  COUNT(int16_t, MPI_INT16_T, 2);
  COUNT(int32_t, MPI_INT32_T, 4);
  COUNT(uint64_t, MPI_UINT64_T, 8);
  COUNT(MPI_Aint, MPI_AINT, 16);
  COUNT(float, MPI_FLOAT, 4);
  COUNT(double, MPI_DOUBLE, 8);
  COUNT(float complex, MPI_C_FLOAT_COMPLEX, 8);
  COUNT(double complex, MPI_C_DOUBLE_COMPLEX, 16);
  COUNT(long double, MPI_LONG_DOUBLE, 32);
  // At addresses that no instruction takes, one of them across two cache lines.
  COUNT(int32_t, MPI_INT32_T, 5);
  COUNT(double, MPI_DOUBLE, 60);
  COUNT(double complex, MPI_C_DOUBLE_COMPLEX, 57);

  // The least value and who has it; pairs have gaps that stay as they are.
  memset(memory, 0x55, rank == 0 ? 256 : 0);
  short_int first = {30000, -1}, mine = {(short)(100 - rank % 50), rank}, small;
  long_double_int start = {30000, -1}, large = {100 - rank % 50, rank}, found;
  if (rank == 0) {
    small = first, found = start;
    memcpy(memory, &small.value, sizeof small.value);
    memcpy(memory + offsetof(short_int, index), &small.index, sizeof small.index);
    memcpy(memory + 64, &found.value, 10);
    memcpy(memory + 64 + offsetof(long_double_int, index), &found.index, sizeof found.index);
  }
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Accumulate(&mine, 1, MPI_SHORT_INT, 0, 0, 1, MPI_SHORT_INT, MPI_MINLOC, win));
  CHECK_OK(MPI_Fetch_and_op(&large, &found, MPI_LONG_DOUBLE_INT, 0, 64, MPI_MINLOC, win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK(found.index == -1 || found.value >= 100 - 49);
  int least = 0;
  for (int r = 0; r < size; r++)
    if (r % 50 > least % 50) least = r;
  if (rank == 0) {
    memcpy(&small, memory, sizeof small);
    memcpy(&found, memory + 64, sizeof found);
    CHECK_EQUAL(small.index, least);
    CHECK_EQUAL(small.value, 100 - least % 50);
    CHECK_EQUAL(found.index, least);
    CHECK(found.value == 100 - least % 50);
    CHECK_EQUAL(memory[2], 0x55);
    CHECK_EQUAL(memory[sizeof found + 64], 0x55);
  }

  // Two of each, in a type with gaps between them.
  MPI_Datatype two;
  short_int pairs[2] = {{(short)rank, rank}, {(short)-rank, rank}}, before[2] = {{7, 7}, {7, 7}};
  CHECK_OK(MPI_Type_create_hvector(2, 1, 20, MPI_SHORT_INT, &two));
  CHECK_OK(MPI_Type_commit(&two));
  if (rank == 0) memset(memory, 0, 256);
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Get_accumulate(pairs, 2, MPI_SHORT_INT, before, 2, MPI_SHORT_INT, 0, 4, 1, two, MPI_MAXLOC, win));
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK(before[0].value >= 0 && before[0].value < size && before[1].value == 0);
  if (rank == 0) {
    memcpy(&small, memory + 4, sizeof small);
    CHECK_EQUAL(small.value, size - 1);
    CHECK_EQUAL(small.index, size - 1);
    memcpy(&small, memory + 24, sizeof small);
    CHECK_EQUAL(small.value, 0);
    CHECK_EQUAL(small.index, 0);
  }
  CHECK_OK(MPI_Type_free(&two));

  // Integers of every size: each rank increments them until it has done so once.
  if (rank == 0) memset(memory, 0, 256);
  CHECK_OK(MPI_Win_fence(0, win));
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int bytes = 1; bytes <= 8; bytes *= 2) {
    MPI_Datatype type;
    CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, bytes, &type));
    uint64_t old = 0, seen = 0;
    for (;;) {
      uint64_t next = old + 1;
      CHECK_OK(MPI_Compare_and_swap(&next, &old, &seen, type, 0, 8 * bytes, win));
      CHECK_OK(MPI_Win_flush(0, win));
      if (seen == old) break;
      old = seen;
    }
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0)
    for (int bytes = 1; bytes <= 8; bytes *= 2) CHECK_EQUAL(memory[8 * bytes], size);
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
