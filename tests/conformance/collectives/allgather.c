// MPI_Allgather and MPI_Allgatherv: in place, different lengths in reverse order, derived datatypes.
#include "values.h"

static int size;

static void even(int count, int turn, int in_place) {
  int *all = value_new(2 * size * count), *send = value_fill(value_new(count), check_rank, count, turn);
  if (in_place) {
    memcpy(all + check_rank * count, send, count * sizeof(int));
    CHECK_OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, MPI_COMM_WORLD));
  } else
    CHECK_OK(MPI_Allgather_c(send, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; r++) CHECK_EQUAL(value_wrong(all + r * count, r, count, turn), 0);
  CHECK_EQUAL(all[size * count], -1);
  // Receive with a gap after each element.
  MPI_Datatype gaps;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < 2 * size * count; i++) all[i] = -1;
  CHECK_OK(MPI_Allgather(send, count, MPI_INT, all, count, gaps, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < size * count; i++)
    wrong += all[2 * i] != value(i / count, i % count, turn) || all[2 * i + 1] != -1;
  CHECK_EQUAL(wrong, 0);
  MPI_Type_free(&gaps);
  free(all);
  free(send);
}

static void uneven(int count, int turn, int in_place) {
  int *lengths = value_new(size), *places = value_new(size), total = 0;
  MPI_Count *large = malloc(size * sizeof *large);
  MPI_Aint *offsets = malloc(size * sizeof *offsets);
  for (int r = size - 1; r >= 0; r--) {
    large[r] = lengths[r] = r % 3 * count;
    offsets[r] = places[r] = total;
    total += lengths[r] + 1;
  }
  int *all = value_new(total), mine = lengths[check_rank];
  int *send = value_fill(value_new(mine), check_rank, mine, turn);
  if (in_place) {
    memcpy(all + places[check_rank], send, mine * sizeof(int));
    CHECK_OK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, all, lengths, places, MPI_INT, MPI_COMM_WORLD));
  } else if (turn % 3)
    CHECK_OK(MPI_Allgatherv(send, mine, MPI_INT, all, lengths, places, MPI_INT, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Allgatherv_c(send, mine, MPI_INT, all, large, offsets, MPI_INT, MPI_COMM_WORLD));
  for (int r = 0; r < size; r++) {
    CHECK_EQUAL(value_wrong(all + places[r], r, lengths[r], turn), 0);
    CHECK_EQUAL(all[places[r] + lengths[r]], -1);
  }
  free(large);
  free(offsets);
  free(lengths);
  free(places);
  free(all);
  free(send);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int turn = 0; turn < 6 * VALUE_COUNTS; turn++) {
    even(value_counts[turn % VALUE_COUNTS], turn, turn / VALUE_COUNTS % 2);
    uneven(value_counts[turn % VALUE_COUNTS], turn, turn / VALUE_COUNTS % 2);
  }
  return check_end();
}
