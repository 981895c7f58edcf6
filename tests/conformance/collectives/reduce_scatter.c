// MPI_Reduce_scatter_block and MPI_Reduce_scatter: in place and not, equal and different parts, rank order.
#include "values.h"

static int size;
static MPI_Datatype affine;

static void compose(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  Affine *a = in, *b = inout;
  (void)datatype;
  for (int i = 0; i < *length; i++) b[i] = affine_compose(a[i], b[i]);
}

// One call; `lengths` null means equal parts of `each` elements.
static void once(int each, const int *lengths, int turn, MPI_Op op) {
  int total = 0, first = 0, mine = lengths ? lengths[check_rank] : each;
  MPI_Count *large = malloc(size * sizeof *large);
  for (int r = 0; r < size; r++) {
    if (r == check_rank) first = total;
    large[r] = lengths ? lengths[r] : each;
    total += large[r];
  }
  Affine *send = calloc(total + 1, sizeof *send), *receive = calloc(total + 1, sizeof *receive);
  for (int i = 0; i < total; i++) receive[i] = send[i] = affine_value(check_rank, i, turn);
  const void *from = turn % 2 ? MPI_IN_PLACE : send;
  if (!lengths && turn / 2 % 2)
    CHECK_OK(MPI_Reduce_scatter_block(from, receive, each, affine, op, MPI_COMM_WORLD));
  else if (!lengths)
    CHECK_OK(MPI_Reduce_scatter_block_c(from, receive, each, affine, op, MPI_COMM_WORLD));
  else if (turn / 2 % 2)
    CHECK_OK(MPI_Reduce_scatter(from, receive, lengths, affine, op, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Reduce_scatter_c(from, receive, large, affine, op, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < mine; i++) {
    Affine right = affine_model(0, size, first + i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  free(send);
  free(receive);
  free(large);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &affine);
  MPI_Type_commit(&affine);
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  int *lengths = malloc(size * sizeof *lengths);
  for (int turn = 0; turn < 4 * (VALUE_COUNTS - 1); turn++) {
    int count = value_counts[turn / 4];
    once(count, NULL, turn, op);
    for (int r = 0; r < size; r++) lengths[r] = r % 3 * count;
    once(0, lengths, turn, op);
    for (int r = 0; r < size; r++) lengths[r] = r == turn % size ? count : 0;
    once(0, lengths, turn, op);
  }
  free(lengths);
  MPI_Op_free(&op);
  MPI_Type_free(&affine);
  return check_end();
}
