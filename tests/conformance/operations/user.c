// Operations of the user, in both signatures, on predefined and derived types. weft-test: ranks=1 part=one-worker
#include "check.h"

static MPI_Datatype seen;
static int calls;

// inout = 10 * in + inout: neither commutative nor blind to the order of its operands.
static void digits(void *in, void *inout, int *length, MPI_Datatype *type) {
  int *a = in, *b = inout, size;
  MPI_Type_size(*type, &size);
  for (int i = 0; i < *length * size / (int)sizeof(int); i++) b[i] = 10 * a[i] + b[i];
  seen = *type;
  calls++;
}

static void digits_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type) {
  int *a = in, *b = inout;
  for (MPI_Count i = 0; i < *length; i++) b[i] = 10 * a[i] + b[i] + 1;
  seen = *type;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Op op, large, freed;
  MPI_Datatype pair;
  int commute;
  CHECK_OK(MPI_Op_create(digits, 0, &op));
  CHECK_OK(MPI_Op_create_c(digits_large, 1, &large));
  CHECK_OK(MPI_Op_commutative(op, &commute));
  CHECK_EQUAL(commute, 0);
  CHECK_OK(MPI_Op_commutative(large, &commute));
  CHECK_EQUAL(commute, 1);
  CHECK_OK(MPI_Op_commutative(MPI_SUM, &commute));
  CHECK_EQUAL(commute, 1);

  int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  CHECK_OK(MPI_Reduce_local(a, b, 4, MPI_INT, op));
  CHECK(b[0] == 15 && b[1] == 26 && b[2] == 37 && b[3] == 48);
  CHECK(seen == MPI_INT && calls == 1);
  CHECK_OK(MPI_Reduce_local_c(a, b, 2, MPI_INT, large));
  CHECK(b[0] == 26 && b[1] == 47 && b[2] == 37);

  // The function sees the handle that the caller passed.
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  CHECK_OK(MPI_Type_commit(&pair));
  CHECK_OK(MPI_Reduce_local(a, b, 2, pair, op));
  CHECK(seen == pair && b[3] == 88);
  CHECK_OK(MPI_Type_free(&pair));

  freed = op;
  CHECK_OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  CHECK_OK(MPI_Op_free(&large));
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_INT, freed), MPI_ERR_OP);
  CHECK_CLASS(MPI_Op_free(&freed), MPI_ERR_OP);
  CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
  op = MPI_SUM;
  CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
  CHECK(op == MPI_SUM);
  CHECK_CLASS(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
  return check_end();
}
