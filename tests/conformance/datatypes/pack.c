// Packing messages of several parts, absolute addresses, sizes, and what does not fit. weft-test: ranks=1 part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char packed[100];
  int n = 7, position = 0, size, one, two;
  double values[3] = {1.5, 2.5, 3.5};
  CHECK_OK(MPI_Pack(&n, 1, MPI_INT, packed, 100, &position, MPI_COMM_WORLD));
  CHECK_OK(MPI_Pack(values, 3, MPI_DOUBLE, packed, 100, &position, MPI_COMM_WORLD));
  CHECK_OK(MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &one));
  CHECK_OK(MPI_Pack_size(3, MPI_DOUBLE, MPI_COMM_WORLD, &two));
  CHECK(position <= one + two);
  size = position;

  int back = 0;
  double values_back[3] = {0};
  position = 0;
  CHECK_OK(MPI_Unpack(packed, size, &position, &back, 1, MPI_INT, MPI_COMM_WORLD));
  CHECK_OK(MPI_Unpack(packed, size, &position, values_back, 3, MPI_DOUBLE, MPI_COMM_WORLD));
  CHECK_EQUAL(position, size);
  CHECK(back == 7 && memcmp(values, values_back, sizeof values) == 0);

  // The large forms count in MPI_Count.
  MPI_Count place = 0, large;
  CHECK_OK(MPI_Pack_c(values, 3, MPI_DOUBLE, packed, 100, &place, MPI_COMM_WORLD));
  CHECK_EQUAL(place, 24);
  place = 8;
  CHECK_OK(MPI_Unpack_c(packed, 24, &place, values_back, 2, MPI_DOUBLE, MPI_COMM_WORLD));
  CHECK(place == 24 && values_back[0] == 2.5 && values_back[1] == 3.5);
  CHECK_OK(MPI_Pack_size_c(3000000000LL, MPI_DOUBLE, MPI_COMM_WORLD, &large));
  CHECK(large == 24000000000LL);
  CHECK_OK(MPI_Pack_size(2000000000, MPI_DOUBLE, MPI_COMM_WORLD, &size));
  CHECK_EQUAL(size, MPI_UNDEFINED);

  // Variables anywhere in memory, by their addresses.
  static int far_away = 42;
  double near = 2.25;
  MPI_Aint at[2];
  MPI_Datatype type;
  CHECK_OK(MPI_Get_address(&far_away, &at[0]));
  CHECK_OK(MPI_Get_address(&near, &at[1]));
  CHECK(MPI_Aint_diff(at[1], at[0]) == (char *)&near - (char *)&far_away);
  CHECK_OK(MPI_Type_create_struct(2, (int[]){1, 1}, at, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type));
  CHECK_OK(MPI_Type_commit(&type));
  position = 0;
  CHECK_OK(MPI_Pack(MPI_BOTTOM, 1, type, packed, 100, &position, MPI_COMM_SELF));
  CHECK_EQUAL(position, 12);
  far_away = 0;
  near = 0;
  position = 0;
  CHECK_OK(MPI_Unpack(packed, 12, &position, MPI_BOTTOM, 1, type, MPI_COMM_SELF));
  CHECK(far_away == 42 && near == 2.25);
  CHECK_OK(MPI_Type_free(&type));

  // Errors leave the position alone.
  position = 96;
  CHECK_CLASS(MPI_Pack(values, 1, MPI_DOUBLE, packed, 100, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
  CHECK_EQUAL(position, 96);
  CHECK_CLASS(MPI_Unpack(packed, 100, &position, values_back, 1, MPI_DOUBLE, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
  position = 0;
  CHECK_CLASS(MPI_Pack(NULL, 1, MPI_INT, packed, 100, &position, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Pack(values, -1, MPI_INT, packed, 100, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Pack(values, 1, MPI_DATATYPE_NULL, packed, 100, &position, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Pack(values, 1, MPI_INT, packed, 100, &position, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_CLASS(MPI_Pack(values, 1, type, packed, 100, &position, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_free(&type));
  return check_end();
}
