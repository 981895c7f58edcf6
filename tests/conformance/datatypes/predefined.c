// Predefined types have the sizes, extents and names of their C types; they cannot be freed. weft-test: ranks=1 part=one-worker
#include "check.h"
#include <complex.h>
#include <stdint.h>
#include <wchar.h>

#define SAME(type, c) is(type, #type, sizeof(c), sizeof(c))

static void is(MPI_Datatype type, const char *name, size_t size, size_t extent) {
  MPI_Aint lb, e;
  MPI_Count x;
  int s, length;
  char text[MPI_MAX_OBJECT_NAME];
  CHECK_OK(MPI_Type_size(type, &s));
  CHECK_EQUAL(s, size);
  CHECK_OK(MPI_Type_size_x(type, &x));
  CHECK_EQUAL(x, size);
  CHECK_OK(MPI_Type_size_c(type, &x));
  CHECK_EQUAL(x, size);
  CHECK_OK(MPI_Type_get_extent(type, &lb, &e));
  CHECK_EQUAL(e, extent);
  CHECK_EQUAL(lb, 0);
  CHECK_OK(MPI_Type_get_name(type, text, &length));
  if (strcmp(text, name) || length != (int)strlen(name)) fprintf(stderr, "%s is called %s\n", name, text);
  CHECK(strcmp(text, name) == 0);
  CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_commit(&type));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  SAME(MPI_CHAR, char);
  SAME(MPI_SIGNED_CHAR, char);
  SAME(MPI_UNSIGNED_CHAR, char);
  SAME(MPI_BYTE, char);
  SAME(MPI_PACKED, char);
  SAME(MPI_SHORT, short);
  SAME(MPI_INT, int);
  SAME(MPI_LONG, long);
  SAME(MPI_LONG_LONG, long long);
  SAME(MPI_UNSIGNED_SHORT, short);
  SAME(MPI_UNSIGNED, int);
  SAME(MPI_UNSIGNED_LONG, long);
  SAME(MPI_UNSIGNED_LONG_LONG, long long);
  SAME(MPI_FLOAT, float);
  SAME(MPI_DOUBLE, double);
  SAME(MPI_LONG_DOUBLE, long double);
  SAME(MPI_WCHAR, wchar_t);
  SAME(MPI_C_BOOL, _Bool);
  SAME(MPI_INT8_T, int8_t);
  SAME(MPI_INT16_T, int16_t);
  SAME(MPI_INT32_T, int32_t);
  SAME(MPI_INT64_T, int64_t);
  SAME(MPI_UINT8_T, int8_t);
  SAME(MPI_UINT16_T, int16_t);
  SAME(MPI_UINT32_T, int32_t);
  SAME(MPI_UINT64_T, int64_t);
  SAME(MPI_AINT, MPI_Aint);
  SAME(MPI_COUNT, MPI_Count);
  SAME(MPI_OFFSET, MPI_Offset);
  SAME(MPI_C_FLOAT_COMPLEX, float _Complex);
  SAME(MPI_C_DOUBLE_COMPLEX, double _Complex);
  SAME(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex);
  SAME(MPI_CXX_BOOL, _Bool);
  SAME(MPI_CXX_DOUBLE_COMPLEX, double _Complex);
  SAME(MPI_INTEGER, int);
  SAME(MPI_REAL, float);
  SAME(MPI_DOUBLE_PRECISION, double);
  SAME(MPI_LOGICAL, int);
  SAME(MPI_COMPLEX, float _Complex);
  SAME(MPI_DOUBLE_COMPLEX, double _Complex);
  SAME(MPI_CHARACTER, char);
  SAME(MPI_INTEGER16, __int128);
  SAME(MPI_REAL2, short);
  SAME(MPI_COMPLEX32, long double _Complex);
  struct { float v; int i; } float_int;
  struct { double v; int i; } double_int;
  struct { long v; int i; } long_int;
  struct { short v; int i; } short_int;
  struct { long double v; int i; } long_double_int;
  is(MPI_FLOAT_INT, "MPI_FLOAT_INT", 8, sizeof float_int);
  is(MPI_DOUBLE_INT, "MPI_DOUBLE_INT", 12, sizeof double_int);
  is(MPI_LONG_INT, "MPI_LONG_INT", 12, sizeof long_int);
  is(MPI_2INT, "MPI_2INT", 8, 8);
  is(MPI_SHORT_INT, "MPI_SHORT_INT", 6, sizeof short_int);
  is(MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", 16 + 4, sizeof long_double_int);
  is(MPI_2REAL, "MPI_2REAL", 8, 8);
  is(MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", 16, 16);
  is(MPI_2INTEGER, "MPI_2INTEGER", 8, 8);

  // Names: predefined ones can be changed, derived ones begin empty.
  MPI_Datatype type, same;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_OK(MPI_Type_get_name(type, name, &length));
  CHECK(length == 0 && name[0] == 0);
  CHECK_OK(MPI_Type_set_name(type, "two integers"));
  CHECK_OK(MPI_Type_get_name(type, name, &length));
  CHECK(strcmp(name, "two integers") == 0 && length == 12);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_set_name(MPI_INT, "whole number"));
  CHECK_OK(MPI_Type_get_name(MPI_INT, name, &length));
  CHECK(strcmp(name, "whole number") == 0);

  // Types by size and by parts.
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  CHECK(type == MPI_REAL8);
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
  CHECK(type == MPI_INTEGER2);
  CHECK_OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
  CHECK(type == MPI_COMPLEX16);
  CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 5, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_match_size(1, 4, &type), MPI_ERR_ARG);
  CHECK_OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
  CHECK(type == MPI_DOUBLE_INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &type));
  CHECK(type == MPI_2INT);
  CHECK_OK(MPI_Type_get_value_index(MPI_BYTE, MPI_INT, &type));
  CHECK(type == MPI_DATATYPE_NULL);

  // Fortran's parameterised kinds: the same arguments give the same handle, which decodes to them.
  int size, ni, na, nd, combiner, integers[2];
  CHECK_OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, 8);
  CHECK_OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &same));
  CHECK(same == type);
  CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
  CHECK(ni == 2 && na == 0 && nd == 0 && combiner == MPI_COMBINER_F90_REAL);
  CHECK_OK(MPI_Type_get_contents(type, 2, 0, 0, integers, NULL, NULL));
  CHECK(integers[0] == 12 && integers[1] == MPI_UNDEFINED);
  CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_TYPE);
  double a = 1.5, b = 2;
  CHECK_OK(MPI_Reduce_local(&a, &b, 1, type, MPI_SUM));
  CHECK(b == 3.5);
  CHECK_OK(MPI_Type_create_f90_complex(6, 37, &type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, 8);
  CHECK_OK(MPI_Type_create_f90_integer(9, &type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, 4);
  CHECK_CLASS(MPI_Type_create_f90_integer(99, &type), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
  return check_end();
}
