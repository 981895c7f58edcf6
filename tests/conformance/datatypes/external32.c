// "external32": sizes of all predefined types, big-endian bytes of every kind, derived types, positions, errors.
// weft-test: ranks=1 part=one-worker
#include "../check.h"
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

static char rep[] = "external32";

// Packs, compares with the expected bytes, unpacks elsewhere and compares with the original.
static void bytes_are(MPI_Datatype type, const void *value, size_t length, const char *hex) {
  unsigned char expected[512], out[512], back[512];
  int n = (int)strlen(hex) / 2;
  for (int i = 0; i < n; i++) sscanf(hex + 2 * i, "%2hhx", &expected[i]);
  MPI_Aint size = -1, position = 3;
  CHECK_OK(MPI_Pack_external_size(rep, 1, type, &size));
  CHECK_EQUAL(size, n);
  memset(out, 0xcc, sizeof out);
  CHECK_OK(MPI_Pack_external(rep, value, 1, type, out, 3 + n, &position));
  CHECK_EQUAL(position, 3 + n);
  if (memcmp(out + 3, expected, n)) {
    fprintf(stderr, "expected %s, packed ", hex);
    for (int i = 0; i < n; i++) fprintf(stderr, "%02x", out[3 + i]);
    fprintf(stderr, "\n");
  }
  CHECK(memcmp(out + 3, expected, n) == 0 && out[2] == 0xcc && out[3 + n] == 0xcc);
  memset(back, 0, sizeof back);
  MPI_Count place = 3;
  CHECK_OK(MPI_Unpack_external_c(rep, out, 3 + n, &place, back, 1, type));
  CHECK_EQUAL(place, 3 + n);
  CHECK(memcmp(back, value, length) == 0);
}

#define ONE(type, c, value, hex)                \
  do {                                          \
    c one_value = value;                        \
    bytes_are(type, &one_value, sizeof(c), hex); \
  } while (0)

static void sizes(void) {
  static const struct { MPI_Datatype type; int size; } table[] = {
      {MPI_PACKED, 1}, {MPI_BYTE, 1}, {MPI_CHAR, 1}, {MPI_UNSIGNED_CHAR, 1}, {MPI_SIGNED_CHAR, 1}, {MPI_WCHAR, 2},
      {MPI_SHORT, 2}, {MPI_UNSIGNED_SHORT, 2}, {MPI_INT, 4}, {MPI_LONG, 4}, {MPI_UNSIGNED, 4}, {MPI_UNSIGNED_LONG, 4},
      {MPI_LONG_LONG_INT, 8}, {MPI_LONG_LONG, 8}, {MPI_UNSIGNED_LONG_LONG, 8}, {MPI_FLOAT, 4}, {MPI_DOUBLE, 8},
      {MPI_LONG_DOUBLE, 16}, {MPI_C_BOOL, 1}, {MPI_INT8_T, 1}, {MPI_INT16_T, 2}, {MPI_INT32_T, 4}, {MPI_INT64_T, 8},
      {MPI_UINT8_T, 1}, {MPI_UINT16_T, 2}, {MPI_UINT32_T, 4}, {MPI_UINT64_T, 8}, {MPI_AINT, 8}, {MPI_COUNT, 8},
      {MPI_OFFSET, 8}, {MPI_C_COMPLEX, 8}, {MPI_C_FLOAT_COMPLEX, 8}, {MPI_C_DOUBLE_COMPLEX, 16},
      {MPI_C_LONG_DOUBLE_COMPLEX, 32}, {MPI_CHARACTER, 1}, {MPI_LOGICAL, 4}, {MPI_INTEGER, 4}, {MPI_REAL, 4},
      {MPI_DOUBLE_PRECISION, 8}, {MPI_COMPLEX, 8}, {MPI_DOUBLE_COMPLEX, 16}, {MPI_CXX_BOOL, 1},
      {MPI_CXX_FLOAT_COMPLEX, 8}, {MPI_CXX_DOUBLE_COMPLEX, 16}, {MPI_CXX_LONG_DOUBLE_COMPLEX, 32}, {MPI_INTEGER1, 1},
      {MPI_INTEGER2, 2}, {MPI_INTEGER4, 4}, {MPI_INTEGER8, 8}, {MPI_INTEGER16, 16}, {MPI_LOGICAL1, 1},
      {MPI_LOGICAL2, 2}, {MPI_LOGICAL4, 4}, {MPI_LOGICAL8, 8}, {MPI_LOGICAL16, 16}, {MPI_REAL2, 2}, {MPI_REAL4, 4},
      {MPI_REAL8, 8}, {MPI_REAL16, 16}, {MPI_COMPLEX4, 4}, {MPI_COMPLEX8, 8}, {MPI_COMPLEX16, 16}, {MPI_COMPLEX32, 32},
      {MPI_FLOAT_INT, 8}, {MPI_DOUBLE_INT, 12}, {MPI_LONG_INT, 8}, {MPI_2INT, 8}, {MPI_SHORT_INT, 6},
      {MPI_LONG_DOUBLE_INT, 20}, {MPI_2REAL, 8}, {MPI_2DOUBLE_PRECISION, 16}, {MPI_2INTEGER, 8}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    MPI_Aint size = -1;
    MPI_Count large = -1;
    CHECK_OK(MPI_Pack_external_size(rep, 1, table[i].type, &size));
    if (size != table[i].size) fprintf(stderr, "entry %zu: %ld, not %d\n", i, (long)size, table[i].size);
    CHECK_EQUAL(size, table[i].size);
    CHECK_OK(MPI_Pack_external_size_c(rep, 1LL << 40, table[i].type, &large));
    CHECK_EQUAL(large, (MPI_Count)table[i].size << 40);
  }
  // The kinds of selected_real_kind and selected_int_kind.
  static const struct { int p, r, size; } reals[] = {{6, 37, 4}, {7, 37, 8}, {6, 38, 8}, {15, 307, 8}, {16, 307, 16},
                                                     {15, 308, 16}, {18, 4931, 16}, {33, 4931, 16}};
  MPI_Datatype type;
  MPI_Aint size;
  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
    CHECK_OK(MPI_Type_create_f90_real(reals[i].p, reals[i].r, &type));
    CHECK_OK(MPI_Pack_external_size(rep, 1, type, &size));
    CHECK_EQUAL(size, reals[i].size);
    CHECK_OK(MPI_Type_create_f90_complex(reals[i].p, reals[i].r, &type));
    CHECK_OK(MPI_Pack_external_size(rep, 1, type, &size));
    CHECK_EQUAL(size, 2 * reals[i].size);
  }
  static const struct { int r, size; } integers[] = {{2, 1}, {3, 2}, {4, 2}, {5, 4}, {9, 4}, {10, 8}, {18, 8}, {19, 16}, {38, 16}};
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
    CHECK_OK(MPI_Type_create_f90_integer(integers[i].r, &type));
    CHECK_OK(MPI_Pack_external_size(rep, 1, type, &size));
    CHECK_EQUAL(size, integers[i].size);
  }
}

static void values(void) {
  ONE(MPI_INT, int, 0x01020304, "01020304");
  ONE(MPI_INT, int, -2, "fffffffe");
  ONE(MPI_SHORT, short, 0x1234, "1234");
  ONE(MPI_UNSIGNED_CHAR, unsigned char, 0xab, "ab");
  ONE(MPI_LONG_LONG, long long, 0x0102030405060708LL, "0102030405060708");
  ONE(MPI_AINT, MPI_Aint, -1, "ffffffffffffffff");
  ONE(MPI_COUNT, MPI_Count, 1LL << 40, "0000010000000000");
  // long takes 4 bytes outside: values in that range survive, the sign of others does.
  ONE(MPI_LONG, long, 0x01020304L, "01020304");
  ONE(MPI_LONG, long, -5L, "fffffffb");
  ONE(MPI_UNSIGNED_LONG, unsigned long, 0xfffffffeUL, "fffffffe");
  ONE(MPI_WCHAR, wchar_t, L'\u20ac', "20ac");
  ONE(MPI_FLOAT, float, 1.5f, "3fc00000");
  ONE(MPI_DOUBLE, double, -2.0, "c000000000000000");
  ONE(MPI_REAL2, uint16_t, 0x3c00, "3c00");
  ONE(MPI_C_BOOL, _Bool, 1, "01");
  ONE(MPI_LOGICAL, int, 1, "00000001");
  ONE(MPI_LOGICAL8, long, 0, "0000000000000000");
  ONE(MPI_C_DOUBLE_COMPLEX, double _Complex, 1.0 + 2.0 * I, "3ff00000000000004000000000000000");
  ONE(MPI_COMPLEX, float _Complex, 1.0f - 2.0f * I, "3f800000c0000000");
  __int128 big = ((__int128)0x0102030405060708LL << 64) | 0x090a0b0c0d0e0f10LL;
  bytes_are(MPI_INTEGER16, &big, sizeof big, "0102030405060708090a0b0c0d0e0f10");
  // Every byte of a logical value counts, and true is 1 when it comes back.
  unsigned char out[16], in[16] = {0};
  int truth = 0x0100, back = -1;
  MPI_Aint position = 0;
  CHECK_OK(MPI_Pack_external(rep, &truth, 1, MPI_LOGICAL, out, 4, &position));
  CHECK(memcmp(out, "\0\0\0\1", 4) == 0);
  in[1] = 7, position = 0;
  CHECK_OK(MPI_Unpack_external(rep, in, 4, &position, &back, 1, MPI_LOGICAL));
  CHECK_EQUAL(back, 1);
}

// long double is IEEE binary128 outside, whatever it is inside.
static void long_doubles(void) {
  long double numbers[] = {0.0L, -0.0L, 1.0L, -1.5L, 1.0L / 3.0L, LDBL_MAX, LDBL_MIN, LDBL_TRUE_MIN, INFINITY, -INFINITY};
  const char *known[] = {"00000000000000000000000000000000", "80000000000000000000000000000000",
                         "3fff0000000000000000000000000000", "bfff8000000000000000000000000000"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    unsigned char out[16];
    MPI_Aint position = 0;
    long double back = 77;
    CHECK_OK(MPI_Pack_external(rep, &numbers[i], 1, MPI_LONG_DOUBLE, out, 16, &position));
    CHECK_EQUAL(position, 16);
    for (int b = 0; i < 4 && b < 16; b++) {
      unsigned byte;
      sscanf(known[i] + 2 * b, "%2x", &byte);
      CHECK_EQUAL(out[b], byte);
    }
    position = 0;
    CHECK_OK(MPI_Unpack_external(rep, out, 16, &position, &back, 1, MPI_LONG_DOUBLE));
    CHECK(back == numbers[i] && signbit(back) == signbit(numbers[i]));
  }
  long double nan = NAN, back = 0;
  unsigned char out[16];
  MPI_Aint position = 0;
  CHECK_OK(MPI_Pack_external(rep, &nan, 1, MPI_LONG_DOUBLE, out, 16, &position));
  position = 0;
  CHECK_OK(MPI_Unpack_external(rep, out, 16, &position, &back, 1, MPI_LONG_DOUBLE));
  CHECK(isnan(back));
#ifdef __SIZEOF_FLOAT128__
  // The compiler's own binary128 is the oracle.
  for (size_t i = 1; i < 8; i++) {
    __float128 exact = numbers[i];
    unsigned char native[16];
    memcpy(native, &exact, 16);
    position = 0;
    MPI_Pack_external(rep, &numbers[i], 1, MPI_LONG_DOUBLE, out, 16, &position);
    for (int b = 0; b < 16; b++) CHECK_EQUAL(out[b], native[15 - b]);
  }
  __float128 third = (__float128)1 / 3;
  unsigned char native[16], wire[16];
  memcpy(native, &third, 16);
  for (int b = 0; b < 16; b++) wire[b] = native[15 - b];
  position = 0;
  MPI_Unpack_external(rep, wire, 16, &position, &back, 1, MPI_LONG_DOUBLE);
  CHECK(back == (long double)third);
#endif
}

static void derived(void) {
  struct { char c; double d[2]; long l; short s; } value = {'x', {1.0, 2.0}, -3, 4}, back[50], many[50];
  MPI_Datatype type, array;
  CHECK_OK(MPI_Type_create_struct(4, (int[]){1, 2, 1, 1}, (MPI_Aint[]){0, 8, 24, 32},
                                  (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_LONG, MPI_SHORT}, &type));
  MPI_Aint position = 0;
  char out[4096];
  CHECK_CLASS(MPI_Pack_external(rep, &value, 1, type, out, sizeof out, &position), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_commit(&type));
  bytes_are(type, &value, 0, "783ff00000000000004000000000000000fffffffd0004");
  for (int i = 0; i < 50; i++) many[i] = value, many[i].l = i - 25, many[i].d[1] = i;
  memset(back, 0, sizeof back);
  position = 0;
  CHECK_OK(MPI_Pack_external(rep, many, 50, type, out, sizeof out, &position));
  CHECK_EQUAL(position, 50 * 23);
  position = 0;
  CHECK_OK(MPI_Unpack_external(rep, out, sizeof out, &position, back, 50, type));
  for (int i = 0; i < 50; i++)
    CHECK(back[i].c == 'x' && back[i].d[0] == 1 && back[i].d[1] == i && back[i].l == i - 25 && back[i].s == 4);
  // Every second double of many, more than any buffer inside the library holds.
  enum { N = 20000 };
  double *from = malloc(2 * N * sizeof *from), *to = calloc(2 * N, sizeof *to);
  char *wire = malloc(N * 8);
  for (int i = 0; i < 2 * N; i++) from[i] = i * 0.5;
  CHECK_OK(MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &array));
  CHECK_OK(MPI_Type_commit(&array));
  position = 0;
  CHECK_OK(MPI_Pack_external(rep, from, 1, array, wire, N * 8, &position));
  CHECK_EQUAL(position, N * 8);
  position = 0;
  // Unpacked with another type of the same signature.
  CHECK_OK(MPI_Unpack_external(rep, wire, N * 8, &position, to, N, MPI_DOUBLE));
  for (int i = 0; i < N; i++) CHECK(to[i] == from[2 * i]);
  free(from), free(to), free(wire);
  MPI_Type_free(&array);
  MPI_Type_free(&type);
}

static void errors(void) {
  int value = 1;
  char out[8];
  MPI_Aint position = 0, size;
  CHECK_CLASS(MPI_Pack_external("native", &value, 1, MPI_INT, out, 8, &position), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_CLASS(MPI_Unpack_external("EXTERNAL32", out, 8, &position, &value, 1, MPI_INT), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_CLASS(MPI_Pack_external_size("", 1, MPI_INT, &size), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_CLASS(MPI_Pack_external(NULL, &value, 1, MPI_INT, out, 8, &position), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pack_external(rep, &value, -1, MPI_INT, out, 8, &position), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Pack_external(rep, &value, 1, MPI_DATATYPE_NULL, out, 8, &position), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Pack_external(rep, NULL, 1, MPI_INT, out, 8, &position), MPI_ERR_BUFFER);
  position = 5;
  CHECK_CLASS(MPI_Pack_external(rep, &value, 1, MPI_INT, out, 8, &position), MPI_ERR_TRUNCATE);
  CHECK_CLASS(MPI_Unpack_external(rep, out, 8, &position, &value, 1, MPI_INT), MPI_ERR_TRUNCATE);
  CHECK_EQUAL(position, 5);
  position = -1;
  CHECK_CLASS(MPI_Pack_external(rep, &value, 1, MPI_INT, out, 8, &position), MPI_ERR_ARG);
  MPI_Count huge;
  CHECK_CLASS(MPI_Pack_external_size_c(rep, 1LL << 62, MPI_DOUBLE, &huge), MPI_ERR_COUNT);
  position = 8;
  CHECK_OK(MPI_Pack_external(rep, NULL, 0, MPI_INT, out, 8, &position));
  CHECK_EQUAL(position, 8);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  sizes();
  values();
  long_doubles();
  derived();
  errors();
  return check_end();
}
