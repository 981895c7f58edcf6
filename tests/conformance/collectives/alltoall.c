// MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw: in place and not, different lengths, datatypes of their own for each peer.
#include "values.h"

static int size;

// Element i of what `from` sends to `to`.
static int letter(int from, int to, int i, int turn) { return value(from * 131 + to, i, turn); }

static int wrong_letters(const int *buffer, int from, int to, int count, int turn) {
  int wrong = 0;
  for (int i = 0; i < count; i++) wrong += buffer[i] != letter(from, to, i, turn);
  return wrong;
}

static void even(int count, int turn, int in_place) {
  int *send = value_new(size * count), *receive = value_new(size * count);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < count; i++) send[r * count + i] = letter(check_rank, r, i, turn);
  if (in_place) {
    memcpy(receive, send, size * count * sizeof(int));
    CHECK_OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive, count, MPI_INT, MPI_COMM_WORLD));
  } else if (turn % 2)
    CHECK_OK(MPI_Alltoall(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Alltoall_c(send, count, MPI_INT, receive, count, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; r++) CHECK_EQUAL(wrong_letters(receive + r * count, r, check_rank, count, turn), 0);
  CHECK_EQUAL(receive[size * count], -1);
  free(send);
  free(receive);
}

// The length between two ranks, the same in both directions (as in place demands).
static int between(int a, int b, int count) { return (a + b) % 3 * count; }

static void uneven(int count, int turn, int in_place, int with_types) {
  int *lengths = value_new(size), *places = value_new(size), *offsets = value_new(size), total = 0;
  MPI_Count *large = malloc(size * sizeof *large);
  MPI_Aint *large_places = malloc(size * sizeof *large_places), *large_offsets = malloc(size * sizeof *large_places);
  MPI_Datatype *types = malloc(size * sizeof *types);
  for (int r = size - 1; r >= 0; r--) {
    large[r] = lengths[r] = between(check_rank, r, count);
    large_places[r] = places[r] = total;
    large_offsets[r] = offsets[r] = total * (int)sizeof(int);
    total += lengths[r] + 1;
    types[r] = MPI_INT;
  }
  // Toward rank 0 the whole part is one element.
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  if (with_types && lengths[0]) {
    MPI_Type_contiguous(lengths[0], MPI_INT, &whole);
    MPI_Type_commit(&whole);
    types[0] = whole;
    large[0] = lengths[0] = 1;
  }
  int *send = value_new(total), *receive = value_new(total);
  for (int r = 0; r < size; r++)
    for (int i = 0; i < between(check_rank, r, count); i++) send[places[r] + i] = letter(check_rank, r, i, turn);
  if (in_place) memcpy(receive, send, total * sizeof(int));
  void *from = in_place ? MPI_IN_PLACE : send;
  if (with_types && turn % 2)
    CHECK_OK(MPI_Alltoallw(from, lengths, offsets, types, receive, lengths, offsets, types, MPI_COMM_WORLD));
  else if (with_types)
    CHECK_OK(MPI_Alltoallw_c(from, large, large_offsets, types, receive, large, large_offsets, types, MPI_COMM_WORLD));
  else if (turn % 2)
    CHECK_OK(MPI_Alltoallv(from, lengths, places, MPI_INT, receive, lengths, places, MPI_INT, MPI_COMM_WORLD));
  else
    CHECK_OK(
        MPI_Alltoallv_c(from, large, large_places, MPI_INT, receive, large, large_places, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; r++) {
    int length = between(check_rank, r, count);
    CHECK_EQUAL(wrong_letters(receive + places[r], r, check_rank, length, turn), 0);
    CHECK_EQUAL(receive[places[r] + length], -1);
  }
  if (whole != MPI_DATATYPE_NULL) MPI_Type_free(&whole);
  free(types);
  free(large);
  free(large_places);
  free(large_offsets);
  free(lengths);
  free(places);
  free(offsets);
  free(send);
  free(receive);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 4 * VALUE_COUNTS; turn++) {
    int count = value_counts[turn / 4];
    even(count, turn, turn / 2 % 2);
    uneven(count, turn, turn / 2 % 2, 0);
    uneven(count, turn, turn / 2 % 2, 1);
  }
  return check_end();
}
