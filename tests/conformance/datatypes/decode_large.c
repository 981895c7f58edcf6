// A type made by a call with large counts decodes to them, however small they are, and only in the large form.
// weft-test: ranks=1 part=one-worker
#include "../check.h"

static int integers[32], combiner;
static MPI_Aint addresses[32];
static MPI_Count large[32], ni, na, nl, nd;
static MPI_Datatype types[32];

static void decode(MPI_Datatype type, int expected_combiner, int i, int l, const MPI_Count *counts) {
  int a, b, c;
  CHECK_CLASS(MPI_Type_get_envelope(type, &a, &b, &c, &combiner), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_get_contents(type, 32, 32, 32, integers, addresses, types), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_get_envelope_c(type, &ni, &na, &nl, &nd, &combiner));
  CHECK_EQUAL(combiner, expected_combiner);
  CHECK_EQUAL(ni, i);
  CHECK_EQUAL(na, 0);
  CHECK_EQUAL(nl, l);
  CHECK_CLASS(MPI_Type_get_contents_c(type, ni, na, nl - 1, nd, integers, addresses, large, types), MPI_ERR_ARG);
  CHECK_OK(MPI_Type_get_contents_c(type, ni, na, nl, nd, integers, addresses, large, types));
  for (int k = 0; k < l; k++) CHECK_EQUAL(large[k], counts[k]);
  CHECK(types[0] == MPI_INT);
  CHECK_OK(MPI_Type_free(&type));
}
#define COUNTS(...) ((MPI_Count[]){__VA_ARGS__})

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype type;
  CHECK_OK(MPI_Type_contiguous_c(5, MPI_INT, &type));
  decode(type, MPI_COMBINER_CONTIGUOUS, 0, 1, COUNTS(5));
  CHECK_OK(MPI_Type_vector_c(5, 2, -3, MPI_INT, &type));
  decode(type, MPI_COMBINER_VECTOR, 0, 3, COUNTS(5, 2, -3));
  CHECK_OK(MPI_Type_create_hvector_c(5, 2, 77, MPI_INT, &type));
  decode(type, MPI_COMBINER_HVECTOR, 0, 3, COUNTS(5, 2, 77));
  CHECK_OK(MPI_Type_indexed_c(2, COUNTS(3, 4), COUNTS(10, 20), MPI_INT, &type));
  decode(type, MPI_COMBINER_INDEXED, 0, 5, COUNTS(2, 3, 4, 10, 20));
  CHECK_OK(MPI_Type_create_hindexed_c(2, COUNTS(3, 4), COUNTS(10, -20), MPI_INT, &type));
  decode(type, MPI_COMBINER_HINDEXED, 0, 5, COUNTS(2, 3, 4, 10, -20));
  CHECK_OK(MPI_Type_create_indexed_block_c(2, 7, COUNTS(10, 20), MPI_INT, &type));
  decode(type, MPI_COMBINER_INDEXED_BLOCK, 0, 4, COUNTS(2, 7, 10, 20));
  CHECK_OK(MPI_Type_create_hindexed_block_c(2, 7, COUNTS(10, 200), MPI_INT, &type));
  decode(type, MPI_COMBINER_HINDEXED_BLOCK, 0, 4, COUNTS(2, 7, 10, 200));
  CHECK_OK(MPI_Type_create_struct_c(2, COUNTS(1, 2), COUNTS(0, 8), (MPI_Datatype[]){MPI_INT, MPI_CHAR}, &type));
  decode(type, MPI_COMBINER_STRUCT, 0, 5, COUNTS(2, 1, 2, 0, 8));
  CHECK(types[1] == MPI_CHAR);
  CHECK_OK(MPI_Type_create_resized_c(MPI_INT, -8, 32, &type));
  decode(type, MPI_COMBINER_RESIZED, 0, 2, COUNTS(-8, 32));
  CHECK_OK(MPI_Type_create_subarray_c(2, COUNTS(8, 9), COUNTS(3, 4), COUNTS(1, 2), MPI_ORDER_FORTRAN, MPI_INT, &type));
  decode(type, MPI_COMBINER_SUBARRAY, 2, 6, COUNTS(8, 9, 3, 4, 1, 2));
  CHECK(integers[0] == 2 && integers[1] == MPI_ORDER_FORTRAN);
  CHECK_OK(MPI_Type_create_darray_c(6, 5, 2, COUNTS(8, 9), (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                                    (int[]){4, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2, 3}, MPI_ORDER_C, MPI_INT, &type));
  decode(type, MPI_COMBINER_DARRAY, 10, 2, COUNTS(8, 9));
  int rest[] = {6, 5, 2, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, 4, MPI_DISTRIBUTE_DFLT_DARG, 2, 3, MPI_ORDER_C};
  for (int i = 0; i < 10; i++) CHECK_EQUAL(integers[i], rest[i]);

  // A duplicate was made by a call without counts, whatever it duplicates; so it decodes in both forms.
  MPI_Datatype old;
  int a, b, c;
  CHECK_OK(MPI_Type_contiguous_c(5, MPI_INT, &old));
  CHECK_OK(MPI_Type_dup(old, &type));
  CHECK_OK(MPI_Type_get_envelope(type, &a, &b, &c, &combiner));
  CHECK(a == 0 && b == 0 && c == 1 && combiner == MPI_COMBINER_DUP);
  MPI_Type_free(&type);
  MPI_Type_free(&old);
  // A type made without large counts decodes in the large form as well.
  CHECK_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &type));
  CHECK_OK(MPI_Type_get_envelope_c(type, &ni, &na, &nl, &nd, &combiner));
  CHECK(ni == 3 && na == 0 && nl == 0 && nd == 1 && combiner == MPI_COMBINER_VECTOR);
  CHECK_OK(MPI_Type_get_contents_c(type, 3, 0, 0, 1, integers, NULL, NULL, types));
  CHECK(integers[0] == 4 && integers[1] == 1 && integers[2] == 2 && types[0] == MPI_INT);
  MPI_Type_free(&type);
  return check_end();
}
