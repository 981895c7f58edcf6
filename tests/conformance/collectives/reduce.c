// MPI_Reduce and MPI_Allreduce: predefined operations, locations, a user's non-commutative operation on a derived
// datatype, in place, every root.
#include "values.h"

static int size, calls;
static MPI_Datatype affine;

static void compose(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  Affine *a = in, *b = inout;
  calls++;
  if (*datatype != affine) fprintf(stderr, "the function sees another datatype\n"), exit(1);
  for (int i = 0; i < *length; i++) b[i] = affine_compose(a[i], b[i]);
}

static void sums(int count, int root, int turn, int in_place) {
  int *send = value_fill(value_new(count), check_rank, count, turn), *receive = value_new(count);
  if (in_place) memcpy(receive, send, count * sizeof(int));
  const void *from = in_place ? MPI_IN_PLACE : send;
  CHECK_OK(turn % 2 ? MPI_Allreduce(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                    : MPI_Allreduce_c(from, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    int sum = 0;
    for (int r = 0; r < size; r++) sum += value(r, i, turn);
    wrong += receive[i] != sum;
  }
  CHECK_EQUAL(wrong, 0);
  CHECK_EQUAL(receive[count], -1);
  memcpy(receive, send, count * sizeof(int));
  if (check_rank == root)
    CHECK_OK(MPI_Reduce(from, receive, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
  else
    CHECK_OK(MPI_Reduce_c(send, NULL, count, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
  for (int i = 0; check_rank == root && i < count; i++) {
    int most = 0;
    for (int r = 0; r < size; r++) most = value(r, i, turn) > most ? value(r, i, turn) : most;
    wrong += receive[i] != most;
  }
  CHECK_EQUAL(wrong, 0);
  free(send);
  free(receive);
}

static void in_order(int count, int root, int turn, MPI_Op op) {
  Affine *send = calloc(count + 1, sizeof *send), *receive = calloc(count + 1, sizeof *receive);
  for (int i = 0; i < count; i++) receive[i] = send[i] = affine_value(check_rank, i, turn);
  const void *from = turn % 2 ? MPI_IN_PLACE : send;
  CHECK_OK(MPI_Allreduce(from, receive, count, affine, op, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    Affine right = affine_model(0, size, i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
    receive[i] = send[i];
  }
  CHECK_OK(MPI_Reduce(check_rank == root ? from : send, receive, count, affine, op, root, MPI_COMM_WORLD));
  for (int i = 0; check_rank == root && i < count; i++) {
    Affine right = affine_model(0, size, i, turn);
    wrong += memcmp(&receive[i], &right, sizeof right) != 0;
  }
  CHECK_EQUAL(wrong, 0);
  free(send);
  free(receive);
}

static void locations(void) {
  struct {
    double value;
    int rank;
  } mine[300], most[300];
  for (int i = 0; i < 300; i++) mine[i].value = (check_rank + i) % size, mine[i].rank = check_rank;
  for (int count = 1; count <= 300; count += 299) {
    CHECK_OK(MPI_Allreduce(mine, most, count, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    for (int i = 0; i < count; i++) {
      CHECK(most[i].value == size - 1);
      CHECK_EQUAL(most[i].rank, (2 * size - 1 - i % size) % size);
    }
  }
}

static void kinds(void) {
  unsigned bits = 1u << check_rank % 20, all;
  CHECK_OK(MPI_Allreduce(&bits, &all, 1, MPI_UNSIGNED, MPI_BOR, MPI_COMM_WORLD));
  CHECK_EQUAL(all, size >= 20 ? (1u << 20) - 1 : (1u << size) - 1);
  double x = check_rank + 0.5, least, first, again;
  CHECK_OK(MPI_Allreduce(&x, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
  CHECK(least == 0.5);
  // The same placement gives the same bits, however the ranks arrive.
  x = 1.0 / (check_rank + 3);
  CHECK_OK(MPI_Allreduce(&x, &first, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  for (int i = 0; i < 50; i++) {
    if (check_rank == i % size) MPI_Comm_test_inter(MPI_COMM_WORLD, &(int){0});
    CHECK_OK(MPI_Allreduce(&x, &again, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(memcmp(&first, &again, sizeof first) == 0);
  }
  char yes = 1, no = check_rank != 0, and, or;
  CHECK_OK(MPI_Allreduce(&no, &and, 1, MPI_SIGNED_CHAR, MPI_LAND, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&yes, &or, 1, MPI_SIGNED_CHAR, MPI_LOR, MPI_COMM_WORLD));
  CHECK_EQUAL(and, 0);
  CHECK_EQUAL(or, 1);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &affine);
  MPI_Type_commit(&affine);
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  int turn = 0;
  for (int c = 0; c < VALUE_COUNTS; c++)
    for (int root = 0; root < size; root += 1 + c / 3, turn++) {
      sums(value_counts[c], root, turn, turn % 2);
      in_order(value_counts[c], root, turn, op);
    }
  locations();
  kinds();
  MPI_Op_free(&op);
  MPI_Type_free(&affine);
  return check_end();
}
