// MPI_Scan and MPI_Exscan: sums and a user's non-commutative operation, in place and not.
#include "values.h"

static MPI_Datatype affine;

static void compose(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  Affine *a = in, *b = inout;
  (void)datatype;
  for (int i = 0; i < *length; i++) b[i] = affine_compose(a[i], b[i]);
}

static void sums(int count, int turn, int in_place, int exclusive) {
  int *send = value_fill(value_new(count), check_rank, count, turn), *receive = value_new(count);
  if (in_place) memcpy(receive, send, count * sizeof(int));
  const void *from = in_place ? MPI_IN_PLACE : send;
  if (exclusive)
    CHECK_OK(turn % 2 ? MPI_Exscan(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                      : MPI_Exscan_c(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  else
    CHECK_OK(turn % 2 ? MPI_Scan(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                      : MPI_Scan_c(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < count && !(exclusive && check_rank == 0); i++) {
    int sum = 0;
    for (int r = 0; r < check_rank + !exclusive; r++) sum += value(r, i, turn);
    wrong += receive[i] != sum;
  }
  CHECK_EQUAL(wrong, 0);
  CHECK_EQUAL(receive[count], -1);
  free(send);
  free(receive);
}

static void in_order(int count, int turn, int in_place, int exclusive, MPI_Op op) {
  Affine *send = calloc(count + 1, sizeof *send), *receive = calloc(count + 1, sizeof *receive);
  for (int i = 0; i < count; i++) receive[i] = send[i] = affine_value(check_rank, i, turn);
  const void *from = in_place ? MPI_IN_PLACE : send;
  if (exclusive)
    CHECK_OK(MPI_Exscan(from, receive, count, affine, op, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Scan(from, receive, count, affine, op, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    // Rank 0's buffer is left alone by the exclusive form.
    Affine right = exclusive && check_rank == 0 ? send[i] : affine_model(0, check_rank + !exclusive, i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  free(send);
  free(receive);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &affine);
  MPI_Type_commit(&affine);
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  for (int turn = 0; turn < 8 * VALUE_COUNTS; turn++) {
    int count = value_counts[turn / 8];
    sums(count, turn, turn / 2 % 2, turn / 4 % 2);
    in_order(count, turn, turn / 2 % 2, turn / 4 % 2, op);
  }
  int x = 1;
  if (check_rank == 0) CHECK_OK(MPI_Exscan(&x, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  if (check_rank != 0) CHECK_OK(MPI_Exscan(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(x, check_rank ? check_rank : 1);
  MPI_Op_free(&op);
  MPI_Type_free(&affine);
  return check_end();
}
