// Envelope and contents of every combiner give back the constructor's arguments. weft-test: ranks=1 part=one-worker
#include "check.h"

static int integers[32], ni, na, nd, combiner;
static MPI_Aint addresses[32];
static MPI_Datatype types[32];

// Decodes a type and frees it.
static void decode(MPI_Datatype type, int expected_combiner, int i, int a, int d) {
  CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
  CHECK_EQUAL(combiner, expected_combiner);
  CHECK_EQUAL(ni, i);
  CHECK_EQUAL(na, a);
  CHECK_EQUAL(nd, d);
  CHECK_OK(MPI_Type_get_contents(type, 32, 32, 32, integers, addresses, types));
  CHECK_OK(MPI_Type_free(&type));
}

static void integers_are(const int *expected, int count) {
  for (int i = 0; i < count; i++) CHECK_EQUAL(integers[i], expected[i]);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype type, old;

  CHECK_OK(MPI_Type_get_envelope(MPI_DOUBLE_INT, &ni, &na, &nd, &combiner));
  CHECK(combiner == MPI_COMBINER_NAMED && ni == 0 && na == 0 && nd == 0);
  CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 32, 32, 32, integers, addresses, types), MPI_ERR_TYPE);

  MPI_Type_dup(MPI_INT, &type);
  decode(type, MPI_COMBINER_DUP, 0, 0, 1);
  CHECK(types[0] == MPI_INT);

  MPI_Type_contiguous(5, MPI_INT, &type);
  CHECK_CLASS(MPI_Type_get_contents(type, 0, 0, 1, integers, addresses, types), MPI_ERR_ARG);
  decode(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
  CHECK_EQUAL(integers[0], 5);

  MPI_Type_vector(5, 2, -3, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_VECTOR, 3, 0, 1);
  integers_are((int[]){5, 2, -3}, 3);
  CHECK(types[0] == MPI_FLOAT);

  MPI_Type_create_hvector(5, 2, 77, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_HVECTOR, 2, 1, 1);
  integers_are((int[]){5, 2}, 2);
  CHECK_EQUAL(addresses[0], 77);

  MPI_Type_indexed(2, (int[]){3, 4}, (int[]){10, 20}, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_INDEXED, 5, 0, 1);
  integers_are((int[]){2, 3, 4, 10, 20}, 5);

  MPI_Type_create_hindexed(2, (int[]){3, 4}, (MPI_Aint[]){10, -20}, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_HINDEXED, 3, 2, 1);
  integers_are((int[]){2, 3, 4}, 3);
  CHECK(addresses[0] == 10 && addresses[1] == -20);

  MPI_Type_create_indexed_block(2, 7, (int[]){10, 20}, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 1);
  integers_are((int[]){2, 7, 10, 20}, 4);

  MPI_Type_create_hindexed_block(2, 7, (MPI_Aint[]){10, 200}, MPI_FLOAT, &type);
  decode(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 1);
  integers_are((int[]){2, 7}, 2);
  CHECK(addresses[0] == 10 && addresses[1] == 200);

  // A derived type comes back as an equivalent new object that is the caller's to free.
  MPI_Type_contiguous(2, MPI_SHORT, &old);
  MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){old, MPI_INT}, &type);
  MPI_Type_free(&old);
  decode(type, MPI_COMBINER_STRUCT, 3, 2, 2);
  integers_are((int[]){2, 1, 2}, 3);
  CHECK(addresses[0] == 0 && addresses[1] == 8 && types[1] == MPI_INT);
  decode(types[0], MPI_COMBINER_CONTIGUOUS, 1, 0, 1);
  CHECK(types[0] == MPI_SHORT && integers[0] == 2);

  MPI_Type_create_resized(MPI_INT, -8, 32, &type);
  decode(type, MPI_COMBINER_RESIZED, 0, 2, 1);
  CHECK(addresses[0] == -8 && addresses[1] == 32);

  MPI_Type_create_subarray(2, (int[]){8, 9}, (int[]){3, 4}, (int[]){1, 2}, MPI_ORDER_FORTRAN, MPI_INT, &type);
  decode(type, MPI_COMBINER_SUBARRAY, 8, 0, 1);
  integers_are((int[]){2, 8, 9, 3, 4, 1, 2, MPI_ORDER_FORTRAN}, 8);

  MPI_Type_create_darray(6, 5, 2, (int[]){8, 9}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                         (int[]){4, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2, 3}, MPI_ORDER_C, MPI_INT, &type);
  decode(type, MPI_COMBINER_DARRAY, 12, 0, 1);
  integers_are((int[]){6, 5, 2, 8, 9, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, 4, MPI_DISTRIBUTE_DFLT_DARG, 2, 3,
                       MPI_ORDER_C}, 12);

  // A call with a count beyond int can only be decoded by the large form.
  MPI_Count many = 3000000000LL, nl, ci, ca, cd;
  MPI_Count large[4];
  CHECK_OK(MPI_Type_vector_c(many, 2, 3, MPI_CHAR, &type));
  CHECK_CLASS(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_get_contents(type, 32, 32, 32, integers, addresses, types), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_get_envelope_c(type, &ci, &ca, &nl, &cd, &combiner));
  CHECK(ci == 0 && ca == 0 && nl == 3 && cd == 1 && combiner == MPI_COMBINER_VECTOR);
  CHECK_OK(MPI_Type_get_contents_c(type, 0, 0, 4, 1, integers, addresses, large, types));
  CHECK(large[0] == many && large[1] == 2 && large[2] == 3 && types[0] == MPI_CHAR);
  MPI_Type_free(&type);
  return check_end();
}
