// Chapter 5: datatypes and packing.
#include "table.h"

static void construction(void) {
  MPI_Datatype made = MPI_DATATYPE_NULL, types[2] = {MPI_INT, MPI_DATATYPE_NULL}, whole[2] = {MPI_INT, MPI_INT};
  int lengths[2] = {1, -3}, good[2] = {1, 1}, displacements[2] = {0, 4};
  MPI_Aint bytes[2] = {0, 8};
  int sizes[2] = {4, 4}, parts[2] = {2, 5}, starts[2] = {0, 3}, fits[2] = {2, 2}, distribs[1] = {77};
  int none[1] = {MPI_DISTRIBUTE_NONE}, block[1] = {MPI_DISTRIBUTE_BLOCK}, dargs[1] = {MPI_DISTRIBUTE_DFLT_DARG};
  int zero[1] = {0}, one[1] = {1}, zeros[2] = {0, 0};
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &made));
  WRONG("oldtype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &made));
  WRONG("newtype is a null pointer", MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
  WRONG("oldtype is MPI_GROUP_EMPTY, a group", MPI_ERR_TYPE, MPI_Type_dup((MPI_Datatype)MPI_GROUP_EMPTY, &made));
  WRONG("63 bits", MPI_ERR_COUNT, MPI_Type_contiguous_c(1LL << 62, MPI_INT, &made));
  WRONG("blocklength is -2", MPI_ERR_ARG, MPI_Type_vector(2, -2, 1, MPI_INT, &made));
  WRONG("blocklength is -2", MPI_ERR_ARG, MPI_Type_create_hvector(2, -2, 1, MPI_INT, &made));
  WRONG("count is -7", MPI_ERR_COUNT, MPI_Type_vector(-7, 2, 1, MPI_INT, &made));
  WRONG("array_of_blocklengths[1] is -3", MPI_ERR_ARG, MPI_Type_indexed(2, lengths, displacements, MPI_INT, &made));
  WRONG("array_of_blocklengths is a null pointer", MPI_ERR_ARG,
        MPI_Type_indexed(2, NULL, displacements, MPI_INT, &made));
  WRONG("array_of_displacements is a null pointer", MPI_ERR_ARG, MPI_Type_indexed(2, good, NULL, MPI_INT, &made));
  WRONG("array_of_blocklengths[1] is -3", MPI_ERR_ARG, MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &made));
  WRONG("blocklength is -4", MPI_ERR_ARG,
        MPI_Type_create_indexed_block(2, -4, displacements, MPI_INT, &made));
  WRONG("array_of_types[1] is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_create_struct(2, good, bytes, types, &made));
  WRONG("array_of_types is a null pointer", MPI_ERR_ARG, MPI_Type_create_struct(2, good, bytes, NULL, &made));
  WRONG("array_of_blocklengths[1] is -3", MPI_ERR_ARG, MPI_Type_create_struct(2, lengths, bytes, whole, &made));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Type_create_struct(-1, good, bytes, types, &made));
  WRONG("oldtype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_create_resized(MPI_DATATYPE_NULL, 0, 8, &made));
  WRONG("ndims is 0", MPI_ERR_ARG, MPI_Type_create_subarray(0, sizes, fits, starts, MPI_ORDER_C, MPI_INT, &made));
  WRONG("array_of_subsizes[1] is 5", MPI_ERR_ARG,
        MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made));
  WRONG("array_of_starts[1] is 3", MPI_ERR_ARG,
        MPI_Type_create_subarray(2, sizes, fits, starts, MPI_ORDER_C, MPI_INT, &made));
  WRONG("order is 3", MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, fits, zeros, 3, MPI_INT, &made));
  WRONG("array_of_sizes is a null pointer", MPI_ERR_ARG,
        MPI_Type_create_subarray(2, NULL, fits, starts, MPI_ORDER_C, MPI_INT, &made));
  WRONG("array_of_distribs[0] is 77", MPI_ERR_ARG,
        MPI_Type_create_darray(1, 0, 1, sizes, distribs, dargs, one, MPI_ORDER_C, MPI_INT, &made));
  WRONG("rank is 3", MPI_ERR_ARG,
        MPI_Type_create_darray(1, 3, 1, sizes, none, dargs, one, MPI_ORDER_C, MPI_INT, &made));
  WRONG("array_of_psizes[0] is 0", MPI_ERR_ARG,
        MPI_Type_create_darray(1, 0, 1, sizes, block, dargs, zero, MPI_ORDER_C, MPI_INT, &made));
  WRONG("r is 99", MPI_ERR_ARG, MPI_Type_create_f90_integer(99, &made));
  WRONG("p is 400", MPI_ERR_ARG, MPI_Type_create_f90_real(400, 1, &made));
  WRONG("p and r are both MPI_UNDEFINED", MPI_ERR_ARG,
        MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, &made));
  WRONG("size is 3", MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &made));
  WRONG("typeclass is 5", MPI_ERR_ARG, MPI_Type_match_size(5, 4, &made));
}

static void use(void) {
  MPI_Datatype made = MPI_INT, types[1];
  MPI_Aint lower, extent, addresses[1];
  int integers[4], combiner;
  WRONG("datatype is MPI_INT, which is predefined; it cannot be freed", MPI_ERR_TYPE, MPI_Type_free(&made));
  made = MPI_DATATYPE_NULL;
  WRONG("datatype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_free(&made));
  WRONG("datatype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_commit(&made));
  WRONG("datatype is a null pointer", MPI_ERR_ARG, MPI_Type_commit(NULL));
  MPI_Type_contiguous(2, MPI_INT, &made);
  MPI_Datatype gone = made;
  MPI_Type_free(&made);
  WRONG("a datatype that was freed already", MPI_ERR_TYPE, MPI_Type_free(&gone));
  WRONG("a datatype that was freed already", MPI_ERR_TYPE, MPI_Type_size(gone, &number));
  WRONG("a datatype that was freed already", MPI_ERR_TYPE, MPI_Send(ints, 1, gone, 0, 0, world));
  WRONG("size is a null pointer", MPI_ERR_ARG, MPI_Type_size(MPI_INT, NULL));
  WRONG("lb is a null pointer", MPI_ERR_ARG, MPI_Type_get_extent(MPI_INT, NULL, &extent));
  WRONG("extent is a null pointer", MPI_ERR_ARG, MPI_Type_get_extent(MPI_INT, &lower, NULL));
  WRONG("datatype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Type_get_true_extent(MPI_DATATYPE_NULL, &lower, &extent));
  WRONG("datatype is MPI_INT, which is predefined", MPI_ERR_TYPE,
        MPI_Type_get_contents(MPI_INT, 1, 1, 1, integers, addresses, types));
  WRONG("max_integers is 1", MPI_ERR_ARG, MPI_Type_get_contents(vector, 1, 0, 1, integers, addresses, types));
  WRONG("combiner is a null pointer", MPI_ERR_ARG,
        MPI_Type_get_envelope(vector, integers, integers, integers, NULL));
  WRONG("num_integers is a null pointer", MPI_ERR_ARG,
        MPI_Type_get_envelope(vector, NULL, integers, integers, &combiner));
  WRONG("type_name is a null pointer", MPI_ERR_ARG, MPI_Type_set_name(vector, NULL));
  WRONG("address is a null pointer", MPI_ERR_ARG, MPI_Get_address(ints, NULL));

  position = 0;
  WRONG("outsize is 3", MPI_ERR_TRUNCATE, MPI_Pack(ints, 1, MPI_INT, text, 3, &position, world));
  WRONG("outsize is -3", MPI_ERR_ARG, MPI_Pack(ints, 1, MPI_INT, text, -3, &position, world));
  WRONG("incount is -1", MPI_ERR_COUNT, MPI_Pack(ints, -1, MPI_INT, text, 100, &position, world));
  WRONG("outbuf is a null pointer", MPI_ERR_BUFFER, MPI_Pack(ints, 1, MPI_INT, NULL, 100, &position, world));
  WRONG("position is a null pointer", MPI_ERR_ARG, MPI_Pack(ints, 1, MPI_INT, text, 100, NULL, world));
  position = -4;
  WRONG("position is -4", MPI_ERR_ARG, MPI_Unpack(text, 100, &position, ints, 1, MPI_INT, world));
  position = 98;
  WRONG("insize is 100", MPI_ERR_TRUNCATE, MPI_Unpack(text, 100, &position, ints, 1, MPI_INT, world));
  position = 0;
  WRONG("outcount is -9", MPI_ERR_COUNT, MPI_Unpack(text, 100, &position, ints, -9, MPI_INT, world));
  WRONG("which is not committed", MPI_ERR_TYPE, MPI_Unpack(text, 100, &position, ints, 1, raw, world));
  WRONG("incount is -1", MPI_ERR_COUNT, MPI_Pack_size(-1, MPI_INT, world, &number));
  WRONG("size is a null pointer", MPI_ERR_ARG, MPI_Pack_size(1, MPI_INT, world, NULL));
}

void datatypes(void) {
  construction();
  use();
}
