// Wrong arguments of constructors. weft-test: ranks=1 part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype type, freed;
  int one = 1, minus = -1, zero = 0, nine = 9;
  MPI_Aint at = 0;
  CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_vector(-2, 1, 1, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_vector(2, -3, 1, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_hvector(2, -3, 1, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_indexed(1, &minus, &zero, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_indexed(1, NULL, &zero, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_hindexed(-1, &one, &at, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_create_indexed_block(1, -1, &zero, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_hindexed_block(1, -1, &at, MPI_INT, &type), MPI_ERR_ARG);
  freed = MPI_DATATYPE_NULL;
  CHECK_CLASS(MPI_Type_create_struct(1, &one, &at, &freed, &type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_create_subarray(0, &one, &one, &zero, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, &one, &nine, &zero, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, &one, &one, &zero, 77, MPI_INT, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, &zero, &one, &zero, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);

  // Too large for 63 bits: an error, not a wrapped size.
  MPI_Count huge = 0x7fffffffffffffffLL;
  CHECK_CLASS(MPI_Type_contiguous_c(huge, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_vector_c(2, 1, huge, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_create_hindexed_c(1, &(MPI_Count){1}, &huge, MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_create_subarray_c(2, (MPI_Count[]){huge, huge}, (MPI_Count[]){1, 1}, (MPI_Count[]){0, 0}, MPI_ORDER_C,
                                   MPI_INT, &type), MPI_ERR_COUNT);
  CHECK_OK(MPI_Type_contiguous_c(huge / 8, MPI_DOUBLE, &type));
  CHECK_OK(MPI_Type_free(&type));

  // Handles that are freed, foreign or rubbish.
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  freed = type;
  CHECK_OK(MPI_Type_free(&type));
  CHECK_CLASS(MPI_Type_commit(&freed), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_free(&freed), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_dup((MPI_Datatype)MPI_COMM_WORLD, &type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_dup((MPI_Datatype)0, &type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_free(&(MPI_Datatype){MPI_DOUBLE}), MPI_ERR_TYPE);

  // A chain of types that no machine could follow is refused.
  int made = 0, result = MPI_SUCCESS;
  MPI_Datatype chain = MPI_CHAR;
  while (result == MPI_SUCCESS && made < 100000) {
    MPI_Datatype next;
    result = MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 1000 + 7 * made},
                                    (MPI_Datatype[]){chain, made % 2 ? MPI_CHAR : MPI_SHORT}, &next);
    if (result == MPI_SUCCESS) {
      if (chain != MPI_CHAR) MPI_Type_free(&chain);
      chain = next;
    }
    made++;
  }
  CHECK_CLASS(result, MPI_ERR_TYPE);
  CHECK(made > 1000);
  MPI_Type_free(&chain);
  return check_end();
}
