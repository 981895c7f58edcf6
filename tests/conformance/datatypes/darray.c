// Distributed arrays: the parts of all processes together cover the array once, and each has its own elements.
// weft-test: ranks=1 part=one-worker
#include "check.h"

enum { SIZE = 2 * 3, ROWS = 7, COLUMNS = 10 };

// Which process coordinate owns an index of a dimension, by the definition of the distribution.
static int owner(int index, int distribution, int argument, int size, int processes) {
  if (distribution == MPI_DISTRIBUTE_NONE) return 0;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    argument = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
  return index / argument % processes;
}

static void covers(const int *distributions, const int *arguments, const int *grid, int order) {
  const int sizes[2] = {ROWS, COLUMNS};
  int array[ROWS * COLUMNS], processes = grid[0] * grid[1], covered = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) array[i] = i;
  for (int rank = 0; rank < processes; rank++) {
    MPI_Datatype type;
    int mine[ROWS * COLUMNS], position = 0, size, next = 0;
    MPI_Aint lb, extent;
    CHECK_OK(MPI_Type_create_darray(processes, rank, 2, sizes, distributions, arguments, grid, order, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK(lb == 0 && extent == (MPI_Aint)sizeof array);
    CHECK_OK(MPI_Type_size(type, &size));
    CHECK_OK(MPI_Pack(array, 1, type, mine, sizeof mine, &position, MPI_COMM_SELF));
    CHECK_EQUAL(position, size);
    // In storage order, the elements whose coordinates this process owns.
    int fast = order == MPI_ORDER_C ? 1 : 0, slow = 1 - fast;
    for (int s = 0; s < sizes[slow]; s++)
      for (int f = 0; f < sizes[fast]; f++) {
        int at[2];
        at[slow] = s, at[fast] = f;
        int row = owner(at[0], distributions[0], arguments[0], ROWS, grid[0]);
        int column = owner(at[1], distributions[1], arguments[1], COLUMNS, grid[1]);
        if (row * grid[1] + column == rank) {
          CHECK(next * (int)sizeof(int) < size);
          CHECK_EQUAL(mine[next], s * sizes[fast] + f);
          next++;
        }
      }
    CHECK_EQUAL(next * sizeof(int), size);
    covered += next;
    MPI_Type_free(&type);
  }
  CHECK_EQUAL(covered, ROWS * COLUMNS);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  const int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC, none = MPI_DISTRIBUTE_NONE;
  const int usual = MPI_DISTRIBUTE_DFLT_DARG;
  const int orders[2] = {MPI_ORDER_C, MPI_ORDER_FORTRAN};
  for (int i = 0; i < 2; i++) {
    covers((int[]){block, block}, (int[]){usual, usual}, (int[]){2, 3}, orders[i]);
    covers((int[]){cyclic, cyclic}, (int[]){usual, 2}, (int[]){2, 3}, orders[i]);
    covers((int[]){cyclic, block}, (int[]){3, 4}, (int[]){3, 3}, orders[i]);
    covers((int[]){none, cyclic}, (int[]){0, 3}, (int[]){1, 4}, orders[i]);
    covers((int[]){block, none}, (int[]){7, 0}, (int[]){4, 1}, orders[i]);
    covers((int[]){cyclic, cyclic}, (int[]){20, 3}, (int[]){2, 5}, orders[i]);
  }
  MPI_Datatype type;
  const int sizes[1] = {8}, one[1] = {1}, two[1] = {2};
  const int *d = (int[]){MPI_DISTRIBUTE_BLOCK};
  // Blocks that do not cover the array, a grid of the wrong size, a rank outside it.
  CHECK_CLASS(MPI_Type_create_darray(2, 0, 1, sizes, d, one, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_darray(3, 0, 1, sizes, d, &usual, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_darray(2, 2, 1, sizes, d, &usual, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  return check_end();
}
