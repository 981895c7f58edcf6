// Memory of other ranks by its address: put and get of all lengths, words that many change at once, and counters at both sides.
#include "../check.h"
#include <weft_am.h>

enum { MOST = 2500000, TURNS = 100 };
static const int lengths[] = {0, 1, 7, 4096, 70000, MOST};

static unsigned char exposed[MOST];
static int64_t words[4];
static Weft_am_counter arrivals, ends, returns;

int main(int argc, char **argv) {
  int rank, size;
  int64_t previous;
  Weft_am_context context;
  static unsigned char data[MOST], back[MOST];
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(Weft_am_init(MPI_COMM_WORLD, &context));
  Weft_am_address *memory = malloc(3 * size * sizeof *memory), *numbers = memory + size, *counters = numbers + size;
  CHECK_OK(Weft_am_address_init(context, exposed, memory));
  CHECK_OK(Weft_am_address_init(context, words, numbers));
  CHECK_OK(Weft_am_address_init(context, &arrivals, counters));
  CHECK_EQUAL(memory[rank], Weft_am_address_of(exposed));
  int next = (rank + 1) % size;
  for (int i = 0; i < (int)(sizeof(lengths) / sizeof(*lengths)); i++) {
    int length = lengths[i];
    for (int j = 0; j < length; j++)
      data[j] = (unsigned char)(j * 13 + j / 251 + rank + i);
    CHECK_OK(Weft_am_put(context, next, length, memory[next], data, counters[next], NULL, &ends));
    // The neighbour's data is here.
    CHECK_OK(Weft_am_waitcntr(context, &arrivals, 1, NULL));
    int before = (rank + size - 1) % size, wrong = 0;
    for (int j = 0; j < length; j++)
      wrong += exposed[j] != (unsigned char)(j * 13 + j / 251 + before + i);
    CHECK_EQUAL(wrong, 0);
    CHECK_OK(Weft_am_waitcntr(context, &ends, 1, NULL));
    memset(back, 0, length);
    CHECK_OK(Weft_am_get(context, next, length, memory[next], back, counters[next], &returns));
    CHECK_OK(Weft_am_waitcntr(context, &returns, 1, NULL));
    CHECK(memcmp(back, data, length) == 0);
    CHECK_OK(Weft_am_waitcntr(context, &arrivals, 1, NULL));
    CHECK_OK(Weft_am_gfence(context));
  }
  // Each rank adds to a word of each, and sets its bit in another one.
  for (int turn = 0; turn < TURNS; turn++)
    for (int target = 0; target < size; target++) {
      int64_t one = 1, bit = (int64_t)1 << rank % 60;
      CHECK_OK(Weft_am_rmw(context, WEFT_AM_FETCH_AND_ADD, target, numbers[target], &one, NULL, NULL));
      if (turn == 0)
        CHECK_OK(Weft_am_rmw(context, WEFT_AM_FETCH_AND_OR, target, numbers[target] + 8, &bit, NULL, NULL));
    }
  // A lock of rank 0 made of a word, under which another one is changed by two steps.
  for (int turn = 0; turn < 5; turn++) {
    int64_t free_to_mine[2] = {0, rank + 1}, nothing = 0, found = 0;
    do {
      CHECK_OK(Weft_am_rmw(context, WEFT_AM_COMPARE_AND_SWAP, 0, numbers[0] + 16, free_to_mine, &previous, &returns));
      CHECK_OK(Weft_am_waitcntr(context, &returns, 1, NULL));
    } while (previous != 0);
    CHECK_OK(Weft_am_get(context, 0, sizeof found, numbers[0] + 24, &found, 0, &returns));
    CHECK_OK(Weft_am_waitcntr(context, &returns, 1, NULL));
    found += 3;
    CHECK_OK(Weft_am_put(context, 0, sizeof found, numbers[0] + 24, &found, 0, NULL, &ends));
    CHECK_OK(Weft_am_waitcntr(context, &ends, 1, NULL));
    CHECK_OK(Weft_am_rmw(context, WEFT_AM_SWAP, 0, numbers[0] + 16, &nothing, &previous, &returns));
    CHECK_OK(Weft_am_waitcntr(context, &returns, 1, NULL));
    CHECK_EQUAL(previous, rank + 1);
  }
  CHECK_OK(Weft_am_gfence(context));
  CHECK_EQUAL(words[0], TURNS * size);
  CHECK_EQUAL(words[1], ((int64_t)1 << (size < 60 ? size : 60)) - 1);
  if (rank == 0)
    CHECK_EQUAL(words[3], 15 * size);
  CHECK_OK(Weft_am_term(&context));
  return check_end();
}
