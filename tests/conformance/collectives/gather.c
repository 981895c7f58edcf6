// MPI_Gather and MPI_Gatherv: every root, in place, different lengths in reverse order, small and large in one call.
#include "values.h"

static int size;

static void even(int count, int root, int turn, int in_place, int derived) {
  int *all = value_new(size * count), *send = value_fill(value_new(count), check_rank, count, turn);
  MPI_Datatype row = MPI_INT;
  int rows = count;
  if (derived && count) {
    MPI_Type_contiguous(count, MPI_INT, &row);
    MPI_Type_commit(&row);
    rows = 1;
  }
  if (check_rank == root && in_place) {
    memcpy(all + root * count, send, count * sizeof(int));
    CHECK_OK(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, rows, row, root, MPI_COMM_WORLD));
  } else if (turn % 2)
    CHECK_OK(MPI_Gather(send, count, MPI_INT, check_rank == root ? all : NULL, rows, row, root, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Gather_c(send, count, MPI_INT, check_rank == root ? all : NULL, rows, row, root, MPI_COMM_WORLD));
  if (check_rank == root)
    for (int r = 0; r < size; r++) CHECK_EQUAL(value_wrong(all + r * count, r, count, turn), 0);
  CHECK_EQUAL(all[size * count], -1);
  if (row != MPI_INT) MPI_Type_free(&row);
  free(all);
  free(send);
}

static void uneven(int count, int root, int turn, int in_place) {
  int *lengths = value_new(size), *places = value_new(size), total = 0;
  for (int r = size - 1; r >= 0; r--) {
    lengths[r] = r % 3 * count;
    places[r] = total;
    total += lengths[r] + 1;  // a gap after each part
  }
  int *all = value_new(total), mine = lengths[check_rank];
  int *send = value_fill(value_new(mine), check_rank, mine, turn);
  if (check_rank == root && in_place) {
    memcpy(all + places[root], send, mine * sizeof(int));
    CHECK_OK(MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, all, lengths, places, MPI_INT, root, MPI_COMM_WORLD));
  } else if (check_rank == root)
    CHECK_OK(MPI_Gatherv(send, mine, MPI_INT, all, lengths, places, MPI_INT, root, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Gatherv(send, mine, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
  if (check_rank == root)
    for (int r = 0; r < size; r++) {
      CHECK_EQUAL(value_wrong(all + places[r], r, lengths[r], turn), 0);
      CHECK_EQUAL(all[places[r] + lengths[r]], -1);
    }
  // The form with large counts.
  MPI_Count *large = malloc(size * sizeof *large);
  MPI_Aint *offsets = malloc(size * sizeof *offsets);
  for (int r = 0; r < size; r++) large[r] = lengths[r], offsets[r] = places[r];
  CHECK_OK(MPI_Gatherv_c(send, mine, MPI_INT, all, large, offsets, MPI_INT, root, MPI_COMM_WORLD));
  free(large);
  free(offsets);
  free(lengths);
  free(places);
  free(all);
  free(send);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int turn = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int c = 0; c < VALUE_COUNTS; c++)
    for (int root = 0; root < size; root += 1 + c / 3, turn++) {
      even(value_counts[c], root, turn, turn / 2 % 2, turn % 3 == 0);
      uneven(value_counts[c], root, turn, turn % 2);
    }
  return check_end();
}
