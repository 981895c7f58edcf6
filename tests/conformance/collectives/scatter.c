// MPI_Scatter and MPI_Scatterv: every root, in place, different lengths in reverse order, derived datatypes.
#include "values.h"

static int size;

static void even(int count, int root, int turn, int in_place) {
  int *all = value_new(size * count), *receive = value_new(2 * count);
  for (int r = 0; r < size; r++) value_fill(all + r * count, r, count, turn);
  MPI_Datatype gaps;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
  MPI_Type_commit(&gaps);
  const void *from = check_rank == root ? all : NULL;
  if (check_rank == root && in_place)
    CHECK_OK(MPI_Scatter(all, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
  else if (turn % 2) {
    CHECK_OK(MPI_Scatter(from, count, MPI_INT, receive, count, MPI_INT, root, MPI_COMM_WORLD));
    CHECK_EQUAL(value_wrong(receive, check_rank, count, turn), 0);
    CHECK_EQUAL(receive[count], -1);
  } else {
    CHECK_OK(MPI_Scatter_c(from, count, MPI_INT, receive, count, gaps, root, MPI_COMM_WORLD));
    int wrong = 0;
    for (int i = 0; i < count; i++) wrong += receive[2 * i] != value(check_rank, i, turn) || receive[2 * i + 1] != -1;
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Type_free(&gaps);
  free(all);
  free(receive);
}

static void uneven(int count, int root, int turn, int in_place) {
  int *lengths = value_new(size), *places = value_new(size), total = 0;
  MPI_Count *large = malloc(size * sizeof *large);
  MPI_Aint *offsets = malloc(size * sizeof *offsets);
  for (int r = size - 1; r >= 0; r--) {
    large[r] = lengths[r] = r % 3 * count;
    offsets[r] = places[r] = total;
    total += lengths[r];
  }
  int *all = value_new(total), mine = lengths[check_rank], *receive = value_new(mine);
  for (int r = 0; r < size; r++) value_fill(all + places[r], r, lengths[r], turn);
  if (check_rank == root && in_place)
    CHECK_OK(MPI_Scatterv(all, lengths, places, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD));
  else if (check_rank == root)
    CHECK_OK(MPI_Scatterv(all, lengths, places, MPI_INT, receive, mine, MPI_INT, root, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, receive, mine, MPI_INT, root, MPI_COMM_WORLD));
  if (check_rank != root || !in_place) CHECK_EQUAL(value_wrong(receive, check_rank, mine, turn), 0);
  for (int i = 0; i < mine; i++) receive[i] = -1;
  CHECK_OK(MPI_Scatterv_c(all, large, offsets, MPI_INT, receive, mine, MPI_INT, root, MPI_COMM_WORLD));
  CHECK_EQUAL(value_wrong(receive, check_rank, mine, turn), 0);
  CHECK_EQUAL(receive[mine], -1);
  free(large);
  free(offsets);
  free(lengths);
  free(places);
  free(all);
  free(receive);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int turn = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int c = 0; c < VALUE_COUNTS; c++)
    for (int root = 0; root < size; root += 1 + c / 3, turn++) {
      even(value_counts[c], root, turn, turn / 2 % 2);
      uneven(value_counts[c], root, turn, turn % 2);
    }
  return check_end();
}
