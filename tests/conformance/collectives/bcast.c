// MPI_Bcast: every root, sizes around the limits, derived datatypes on either side, no data, large counts.
#include "values.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, turn = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Datatype one, every_other;
  MPI_Type_vector(1, 1, 2, MPI_INT, &one);
  MPI_Type_create_resized(one, 0, 2 * sizeof(int), &every_other);
  MPI_Type_free(&one);
  MPI_Type_commit(&every_other);
  for (int c = 0; c < VALUE_COUNTS; c++)
    for (int root = 0; root < size; root++, turn++) {
      int count = value_counts[c];
      int *buffer = value_new(2 * count);
      if (check_rank == root) value_fill(buffer, root, count, turn);
      CHECK_OK(turn % 2 ? MPI_Bcast(buffer, count, MPI_INT, root, MPI_COMM_WORLD)
                        : MPI_Bcast_c(buffer, count, MPI_INT, root, MPI_COMM_WORLD));
      CHECK_EQUAL(value_wrong(buffer, root, count, turn), 0);
      CHECK_EQUAL(buffer[2 * count], -1);
      // The root and even ranks have gaps between the elements, odd ranks have none.
      int gaps = check_rank == root || check_rank % 2 == 0;
      for (int i = 0; i < 2 * count; i++) buffer[i] = -1;
      if (check_rank == root)
        for (int i = 0; i < count; i++) buffer[2 * i] = value(root, i, turn + 1);
      CHECK_OK(MPI_Bcast(buffer, count, gaps ? every_other : MPI_INT, root, MPI_COMM_WORLD));
      int wrong = 0;
      for (int i = 0; i < count; i++) {
        wrong += buffer[gaps ? 2 * i : i] != value(root, i, turn + 1);
        wrong += gaps && buffer[2 * i + 1] != -1;
      }
      CHECK_EQUAL(wrong, 0);
      free(buffer);
    }
  // Many in a row from one root: it may run ahead, the values must not be overtaken.
  for (int i = 0; i < 1000; i++) {
    int x = check_rank == 0 ? i : -1;
    CHECK_OK(MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_EQUAL(x, i);
  }
  MPI_Type_free(&every_other);
  return check_end();
}
