// Every constructor: size, bounds, true bounds and where the data lie.
// weft-test: part=one-worker
#include "check.h"

// Packs one instance at `base` of a byte array filled with its own indices and compares with the expected indices.
static void packs(MPI_Datatype type, int base, const unsigned char *expected, int length) {
  unsigned char memory[256], packed[256];
  int position = 0, size;
  for (int i = 0; i < 256; i++) memory[i] = (unsigned char)i;
  CHECK_OK(MPI_Type_commit(&type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, length);
  CHECK_OK(MPI_Pack(memory + base, 1, type, packed, 256, &position, MPI_COMM_SELF));
  CHECK_EQUAL(position, length);
  CHECK(memcmp(packed, expected, (size_t)length) == 0);
  // And back into other memory: only these bytes change.
  unsigned char back[256];
  memset(back, 0xee, 256);
  position = 0;
  CHECK_OK(MPI_Unpack(packed, 256, &position, back + base, 1, type, MPI_COMM_SELF));
  for (int i = 0; i < 256; i++) {
    int data = memchr(expected, i, (size_t)length) != NULL;
    CHECK_EQUAL(back[i], data ? i : 0xee);
  }
}

static void bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent, MPI_Aint true_lb, MPI_Aint true_extent) {
  MPI_Aint a, b;
  MPI_Count x, y;
  CHECK_OK(MPI_Type_get_extent(type, &a, &b));
  CHECK_EQUAL(a, lb);
  CHECK_EQUAL(b, extent);
  CHECK_OK(MPI_Type_get_extent_x(type, &x, &y));
  CHECK(x == lb && y == extent);
  CHECK_OK(MPI_Type_get_extent_c(type, &x, &y));
  CHECK(x == lb && y == extent);
  CHECK_OK(MPI_Type_get_true_extent(type, &a, &b));
  CHECK_EQUAL(a, true_lb);
  CHECK_EQUAL(b, true_extent);
  CHECK_OK(MPI_Type_get_true_extent_x(type, &x, &y));
  CHECK(x == true_lb && y == true_extent);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype type, old;

  CHECK_OK(MPI_Type_contiguous(3, MPI_SHORT, &type));
  bounds(type, 0, 6, 0, 6);
  packs(type, 10, (unsigned char[]){10, 11, 12, 13, 14, 15}, 6);
  CHECK_OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);

  CHECK_OK(MPI_Type_vector(2, 2, 3, MPI_SHORT, &type));
  bounds(type, 0, 10, 0, 10);
  packs(type, 0, (unsigned char[]){0, 1, 2, 3, 6, 7, 8, 9}, 8);
  MPI_Type_free(&type);

  // A negative stride puts the lower bound below zero.
  CHECK_OK(MPI_Type_vector(2, 1, -3, MPI_SHORT, &type));
  bounds(type, -6, 8, -6, 8);
  packs(type, 20, (unsigned char[]){20, 21, 14, 15}, 4);
  MPI_Type_free(&type);

  CHECK_OK(MPI_Type_create_hvector(3, 1, 5, MPI_CHAR, &type));
  bounds(type, 0, 11, 0, 11);
  packs(type, 0, (unsigned char[]){0, 5, 10}, 3);
  MPI_Type_free(&type);

  CHECK_OK(MPI_Type_indexed(3, (int[]){2, 0, 1}, (int[]){4, 100, 1}, MPI_SHORT, &type));
  bounds(type, 2, 10, 2, 10);
  packs(type, 0, (unsigned char[]){8, 9, 10, 11, 2, 3}, 6);
  MPI_Type_free(&type);

  CHECK_OK(MPI_Type_create_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){7, -4}, MPI_CHAR, &type));
  bounds(type, -4, 12, -4, 12);
  packs(type, 50, (unsigned char[]){57, 46, 47}, 3);
  MPI_Type_free(&type);

  CHECK_OK(MPI_Type_create_indexed_block(3, 2, (int[]){0, 5, 3}, MPI_CHAR, &type));
  packs(type, 0, (unsigned char[]){0, 1, 5, 6, 3, 4}, 6);
  MPI_Type_free(&type);

  CHECK_OK(MPI_Type_create_hindexed_block(2, 1, (MPI_Aint[]){9, 1}, MPI_SHORT, &type));
  packs(type, 0, (unsigned char[]){9, 10, 1, 2}, 4);
  MPI_Type_free(&type);

  // A struct as C lays it out: the extent is padded to the strictest alignment.
  struct { double d; char c; } layout;
  CHECK_OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &type));
  bounds(type, 0, sizeof layout, 0, 9);
  packs(type, 0, (unsigned char[]){0, 1, 2, 3, 4, 5, 6, 7, 8}, 9);
  MPI_Type_free(&type);

  // The padding of a part counts, also where displacements are odd: 42 bytes of data, the last part ends at 25 + 24.
  CHECK_OK(MPI_Type_create_hvector(2, 1, 9, MPI_DOUBLE, &old));
  bounds(old, 0, 24, 0, 17);
  CHECK_OK(MPI_Type_create_hvector(2, 1, 25, old, &type));
  bounds(type, 0, 56, 0, 42);
  MPI_Type_free(&old);
  MPI_Type_free(&type);

  // Members of zero length contribute nothing.
  CHECK_OK(MPI_Type_create_struct(2, (int[]){0, 1}, (MPI_Aint[]){-100, 4}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &type));
  bounds(type, 4, 4, 4, 4);
  MPI_Type_free(&type);

  // The example of the standard: bounds of a resized type stick in what is built from it.
  CHECK_OK(MPI_Type_create_resized(MPI_INT, -3, 9, &old));
  bounds(old, -3, 9, 0, 4);
  CHECK_OK(MPI_Type_contiguous(2, old, &type));
  bounds(type, -3, 18, 0, 13);
  packs(type, 0, (unsigned char[]){0, 1, 2, 3, 9, 10, 11, 12}, 8);
  MPI_Type_free(&type);
  // A type outlives the handle of the type it is built from.
  CHECK_OK(MPI_Type_dup(old, &type));
  MPI_Type_free(&old);
  bounds(type, -3, 9, 0, 4);
  MPI_Type_free(&type);

  // A negative extent lets instances go down.
  CHECK_OK(MPI_Type_create_resized(MPI_SHORT, 0, -4, &old));
  CHECK_OK(MPI_Type_contiguous(3, old, &type));
  bounds(type, -8, 4, -8, 10);
  packs(type, 30, (unsigned char[]){30, 31, 26, 27, 22, 23}, 6);
  MPI_Type_free(&type);
  MPI_Type_free(&old);

  // Zero counts make empty types.
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &type));
  bounds(type, 0, 0, 0, 0);
  packs(type, 0, (unsigned char[]){0}, 0);
  MPI_Type_free(&type);

  // Rows 1..2, columns 1..2 of a 4 x 3 array.
  CHECK_OK(MPI_Type_create_subarray(2, (int[]){4, 3}, (int[]){2, 2}, (int[]){1, 1}, MPI_ORDER_C, MPI_SHORT, &type));
  bounds(type, 0, 24, 8, 10);
  packs(type, 0, (unsigned char[]){8, 9, 10, 11, 14, 15, 16, 17}, 8);
  MPI_Type_free(&type);
  // The same numbers in column-major order.
  CHECK_OK(MPI_Type_create_subarray(2, (int[]){4, 3}, (int[]){2, 2}, (int[]){1, 1}, MPI_ORDER_FORTRAN, MPI_CHAR, &type));
  packs(type, 0, (unsigned char[]){5, 6, 9, 10}, 4);
  MPI_Type_free(&type);
  return check_end();
}
