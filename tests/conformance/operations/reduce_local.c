// Predefined operations on every class of types. weft-test: ranks=1 part=one-worker
#include "check.h"
#include <complex.h>
#include <stdint.h>

// Applies an operation to one value and checks the result.
#define ONE(c, type, op, a, b, result)                    \
  do {                                                    \
    c in_ = (a), inout_ = (b);                            \
    CHECK_OK(MPI_Reduce_local(&in_, &inout_, 1, type, op)); \
    CHECK(inout_ == (c)(result));                         \
  } while (0)

#define INTEGER(c, type)                        \
  do {                                          \
    ONE(c, type, MPI_SUM, 20, 30, 50);          \
    ONE(c, type, MPI_PROD, 5, 7, 35);           \
    ONE(c, type, MPI_MAX, 5, 7, 7);             \
    ONE(c, type, MPI_MIN, 5, 7, 5);             \
    ONE(c, type, MPI_BAND, 12, 10, 8);          \
    ONE(c, type, MPI_BOR, 12, 10, 14);          \
    ONE(c, type, MPI_BXOR, 12, 10, 6);          \
  } while (0)

#define C_INTEGER(c, type)                      \
  do {                                          \
    INTEGER(c, type);                           \
    LOGICAL(c, type);                           \
    ONE(c, type, MPI_LAND, 2, 4, 1);            \
  } while (0)

#define LOGICAL(c, type)                        \
  do {                                          \
    ONE(c, type, MPI_LAND, 1, 0, 0);            \
    ONE(c, type, MPI_LAND, 1, 1, 1);            \
    ONE(c, type, MPI_LOR, 0, 1, 1);             \
    ONE(c, type, MPI_LOR, 0, 0, 0);             \
    ONE(c, type, MPI_LXOR, 1, 1, 0);            \
    ONE(c, type, MPI_LXOR, 1, 0, 1);            \
  } while (0)

#define FLOATING(c, type)                       \
  do {                                          \
    ONE(c, type, MPI_SUM, 1.5, -3.25, -1.75);   \
    ONE(c, type, MPI_PROD, 1.5, -3, -4.5);      \
    ONE(c, type, MPI_MAX, 1.5, -3, 1.5);        \
    ONE(c, type, MPI_MIN, 1.5, -3, -3);         \
    REFUSED(type, MPI_BAND);                    \
    REFUSED(type, MPI_LAND);                    \
    REFUSED(type, MPI_MAXLOC);                  \
  } while (0)

#define COMPLEX(c, type)                                      \
  do {                                                        \
    ONE(c, type, MPI_SUM, 1 + 2 * I, 3 - 5 * I, 4 - 3 * I);   \
    ONE(c, type, MPI_PROD, 1 + 2 * I, 3 - 5 * I, 13 + 1 * I); \
    REFUSED(type, MPI_MAX);                                   \
  } while (0)

#define PAIR(c, type)                                                         \
  do {                                                                        \
    struct { c v; int i; } in_[3] = {{5, 4}, {7, 1}, {7, 1}}, out_[3] = {{5, 2}, {3, 9}, {8, 0}}; \
    CHECK_OK(MPI_Reduce_local(in_, out_, 3, type, MPI_MAXLOC));               \
    CHECK(out_[0].v == 5 && out_[0].i == 2);                                  \
    CHECK(out_[1].v == 7 && out_[1].i == 1);                                  \
    CHECK(out_[2].v == 8 && out_[2].i == 0);                                  \
    struct { c v; int i; } low_[2] = {{5, 4}, {7, 1}}, most_[2] = {{5, 6}, {3, 9}}; \
    CHECK_OK(MPI_Reduce_local(low_, most_, 2, type, MPI_MINLOC));             \
    CHECK(most_[0].v == 5 && most_[0].i == 4);                                \
    CHECK(most_[1].v == 3 && most_[1].i == 9);                                \
    REFUSED(type, MPI_SUM);                                                   \
  } while (0)

#define REFUSED(type, op) CHECK_CLASS(MPI_Reduce_local(room, room + 64, 1, type, op), MPI_ERR_OP)

static char room[128] __attribute__((aligned(16)));

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  C_INTEGER(signed char, MPI_SIGNED_CHAR);
  C_INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
  C_INTEGER(short, MPI_SHORT);
  C_INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
  C_INTEGER(int, MPI_INT);
  C_INTEGER(unsigned, MPI_UNSIGNED);
  C_INTEGER(long, MPI_LONG);
  C_INTEGER(unsigned long, MPI_UNSIGNED_LONG);
  C_INTEGER(long long, MPI_LONG_LONG);
  C_INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  C_INTEGER(int8_t, MPI_INT8_T);
  C_INTEGER(int16_t, MPI_INT16_T);
  C_INTEGER(int32_t, MPI_INT32_T);
  C_INTEGER(int64_t, MPI_INT64_T);
  C_INTEGER(uint8_t, MPI_UINT8_T);
  C_INTEGER(uint16_t, MPI_UINT16_T);
  C_INTEGER(uint32_t, MPI_UINT32_T);
  C_INTEGER(uint64_t, MPI_UINT64_T);
  INTEGER(int, MPI_INTEGER);
  INTEGER(int8_t, MPI_INTEGER1);
  INTEGER(int16_t, MPI_INTEGER2);
  INTEGER(int32_t, MPI_INTEGER4);
  INTEGER(int64_t, MPI_INTEGER8);
  INTEGER(__int128, MPI_INTEGER16);
  INTEGER(MPI_Aint, MPI_AINT);
  INTEGER(MPI_Count, MPI_COUNT);
  INTEGER(MPI_Offset, MPI_OFFSET);
  REFUSED(MPI_INTEGER, MPI_LAND);
  // Signed and unsigned numbers differ in order.
  ONE(int, MPI_INT, MPI_MAX, -1, 1, 1);
  ONE(unsigned, MPI_UNSIGNED, MPI_MAX, -1, 1, 0xffffffffu);

  FLOATING(float, MPI_FLOAT);
  FLOATING(double, MPI_DOUBLE);
  FLOATING(long double, MPI_LONG_DOUBLE);
  FLOATING(float, MPI_REAL);
  FLOATING(double, MPI_DOUBLE_PRECISION);
  FLOATING(float, MPI_REAL4);
  FLOATING(double, MPI_REAL8);
#ifdef __SIZEOF_FLOAT128__
  FLOATING(__float128, MPI_REAL16);
#endif
#ifdef __FLT16_MAX__
  FLOATING(_Float16, MPI_REAL2);
#endif
  // A long double keeps all of its bits.
  ONE(long double, MPI_LONG_DOUBLE, MPI_SUM, 1.0L, 1.0L / (1LL << 60), 1.0L + 1.0L / (1LL << 60));

  COMPLEX(float _Complex, MPI_C_FLOAT_COMPLEX);
  COMPLEX(double _Complex, MPI_C_DOUBLE_COMPLEX);
  COMPLEX(long double _Complex, MPI_C_LONG_DOUBLE_COMPLEX);
  COMPLEX(float _Complex, MPI_COMPLEX);
  COMPLEX(double _Complex, MPI_DOUBLE_COMPLEX);
  COMPLEX(double _Complex, MPI_CXX_DOUBLE_COMPLEX);
  COMPLEX(double _Complex, MPI_COMPLEX16);

  LOGICAL(_Bool, MPI_C_BOOL);
  LOGICAL(_Bool, MPI_CXX_BOOL);
  LOGICAL(int, MPI_LOGICAL);
  LOGICAL(int8_t, MPI_LOGICAL1);
  LOGICAL(int64_t, MPI_LOGICAL8);
  REFUSED(MPI_LOGICAL, MPI_SUM);
  ONE(unsigned char, MPI_BYTE, MPI_BXOR, 0xf0, 0xff, 0x0f);
  REFUSED(MPI_BYTE, MPI_SUM);
  REFUSED(MPI_CHARACTER, MPI_MAX);
  REFUSED(MPI_PACKED, MPI_BOR);
  REFUSED(MPI_INT, MPI_REPLACE);
  REFUSED(MPI_INT, MPI_NO_OP);

  PAIR(float, MPI_FLOAT_INT);
  PAIR(double, MPI_DOUBLE_INT);
  PAIR(long, MPI_LONG_INT);
  PAIR(int, MPI_2INT);
  PAIR(short, MPI_SHORT_INT);
  PAIR(long double, MPI_LONG_DOUBLE_INT);
  float reals[2] = {2, 5}, more[2] = {2, 4};
  CHECK_OK(MPI_Reduce_local(reals, more, 1, MPI_2REAL, MPI_MAXLOC));
  CHECK(more[0] == 2 && more[1] == 4);

  // Many elements, also at odd addresses.
  enum { MANY = 1003 };
  static char a[MANY * 8 + 1], b[MANY * 8 + 1];
  for (int i = 0; i < MANY; i++) {
    double x = i, y = 2 * i;
    memcpy(a + 1 + 8 * i, &x, 8);
    memcpy(b + 1 + 8 * i, &y, 8);
  }
  CHECK_OK(MPI_Reduce_local(a + 1, b + 1, MANY, MPI_DOUBLE, MPI_SUM));
  for (int i = 0; i < MANY; i++) {
    double y;
    memcpy(&y, b + 1 + 8 * i, 8);
    CHECK(y == 3.0 * i);
  }
  CHECK_OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));
  CHECK_OK(MPI_Reduce_local_c(a, b, 0, MPI_INT, MPI_SUM));

  // Wrong arguments.
  int x = 1, y = 2;
  MPI_Datatype pair;
  CHECK_CLASS(MPI_Reduce_local(&x, &y, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_local(&x, &y, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(&x, NULL, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Reduce_local(&x, &x, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  CHECK_OK(MPI_Type_commit(&pair));
  REFUSED(pair, MPI_SUM);
  CHECK_OK(MPI_Type_free(&pair));
  return check_end();
}
