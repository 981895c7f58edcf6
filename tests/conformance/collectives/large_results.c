// Results that together take more room than caches have: every element of bcast, allreduce, allgather and alltoall arrives,
// whatever the alignment of the buffers, and nothing beside them is touched.
// weft-test: ranks=2,3,17
#include "../check.h"

enum { TOTAL = 26 << 20, GUARD = 64 };

// Bytes that depend on who sends to whom (-1: to all) and on the place.
static unsigned char byte(int from, int to, size_t at) { return (unsigned char)(from * 37 + to * 11 + at + at / 251); }

static void fill(unsigned char *at, size_t length, int from, int to) {
  for (size_t i = 0; i < length; i++) at[i] = byte(from, to, i);
}

static void holds(const unsigned char *at, size_t length, int from, int to) {
  size_t wrong = 0;
  for (size_t i = 0; i < length; i++) wrong += at[i] != byte(from, to, i);
  CHECK(wrong == 0);
}

// The result's place in `room`, `shift` bytes off an alignment, with guards on both sides.
static unsigned char *place(unsigned char *room, size_t length, int shift) {
  memset(room, 0xa5, length + shift + 2 * GUARD);
  return room + GUARD + shift;
}

static void beside_is_untouched(const unsigned char *at, size_t length) {
  for (int i = 1; i <= GUARD; i++) CHECK(at[-i] == 0xa5 && at[length + i - 1] == 0xa5);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, rank = check_rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Odd, so that pieces begin anywhere.
  size_t whole = TOTAL / size + 1, piece = TOTAL / size / size | 1;
  unsigned char *mine = malloc(piece * size + whole), *room = malloc(piece * size + whole + 3 * GUARD);

  for (int shift = 0; shift < 3; shift += 2) {
    int root = shift % size;
    unsigned char *result = place(room, whole, shift);
    if (rank == root) fill(result, whole, root, -1);
    CHECK_OK(MPI_Bcast(result, (int)whole, MPI_BYTE, root, MPI_COMM_WORLD));
    holds(result, whole, root, -1);
    beside_is_untouched(result, whole);

    result = place(room, piece * size, shift);
    fill(mine, piece, rank, -1);
    CHECK_OK(MPI_Allgather(mine, (int)piece, MPI_BYTE, result, (int)piece, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) holds(result + from * piece, piece, from, -1);
    beside_is_untouched(result, piece * size);

    result = place(room, piece * size, shift);
    for (int to = 0; to < size; to++) fill(mine + to * piece, piece, rank, to);
    CHECK_OK(MPI_Alltoall(mine, (int)piece, MPI_BYTE, result, (int)piece, MPI_BYTE, MPI_COMM_WORLD));
    for (int from = 0; from < size; from++) holds(result + from * piece, piece, from, rank);
    beside_is_untouched(result, piece * size);

    result = place(room, whole, shift);
    fill(mine, whole, rank == size - 1 ? 1 : 0, -1);
    for (size_t i = 0; rank < size - 1 && i < whole; i++) mine[i] = 0;
    CHECK_OK(MPI_Allreduce(mine, result, (int)whole, MPI_UINT8_T, MPI_BOR, MPI_COMM_WORLD));
    holds(result, whole, 1, -1);
    beside_is_untouched(result, whole);
  }
  free(mine);
  free(room);
  return check_end();
}
