// MPI_Type_get_value_index: named pairs, unnamed ones that lie as C structures and serve MINLOC and MAXLOC, and nothing
// for types that have no order or no integer index.
#include "../check.h"
#include <stdint.h>

#define PAIR(value_type, value, index_type, index)                                                            \
  do {                                                                                                        \
    struct pair { value v; index i; } mine = {(value)(10 - check_rank % 3), (index)check_rank}, all, want;    \
    MPI_Datatype type, again, parts[2];                                                                       \
    MPI_Aint lb, extent;                                                                                      \
    int ni, na, nd, combiner, size;                                                                           \
    CHECK_OK(MPI_Type_get_value_index(value_type, index_type, &type));                                        \
    CHECK(type != MPI_DATATYPE_NULL);                                                                         \
    CHECK_OK(MPI_Type_get_value_index(value_type, index_type, &again));                                       \
    CHECK(again == type);                                                                                     \
    CHECK_OK(MPI_Type_get_extent(type, &lb, &extent));                                                        \
    CHECK(lb == 0 && extent == sizeof(struct pair));                                                          \
    CHECK_OK(MPI_Type_size(type, &size));                                                                     \
    CHECK_EQUAL(size, sizeof(value) + sizeof(index));                                                         \
    CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));                                          \
    CHECK(ni == 0 && na == 0 && nd == 2 && combiner == MPI_COMBINER_VALUE_INDEX);                             \
    CHECK_OK(MPI_Type_get_contents(type, 0, 0, 2, NULL, NULL, parts));                                        \
    CHECK(parts[0] == value_type && parts[1] == index_type);                                                  \
    again = type;                                                                                             \
    CHECK_CLASS(MPI_Type_free(&again), MPI_ERR_TYPE);                                                         \
    CHECK(again == type);                                                                                     \
    /* The lowest rank with the smallest, and with the largest value. */                                      \
    CHECK_OK(MPI_Allreduce(&mine, &all, 1, type, MPI_MINLOC, MPI_COMM_WORLD));                                \
    int low = size_of_world > 2 ? 2 : size_of_world - 1;                                                      \
    want.v = (value)(10 - low), want.i = (index)low;                                                          \
    CHECK(all.v == want.v && all.i == want.i);                                                                \
    CHECK_OK(MPI_Allreduce(&mine, &all, 1, type, MPI_MAXLOC, MPI_COMM_WORLD));                                \
    CHECK(all.v == 10 && all.i == 0);                                                                         \
    CHECK_CLASS(MPI_Allreduce(&mine, &all, 1, type, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);                    \
    /* Many, reduced locally: gaps of the structure stay as they are. */                                      \
    struct pair a[9], b[9];                                                                                   \
    memset(a, 1, sizeof a), memset(b, 2, sizeof b);                                                           \
    for (int k = 0; k < 9; k++) a[k].v = (value)(k % 3), b[k].v = (value)1, a[k].i = (index)k, b[k].i = (index)4; \
    CHECK_OK(MPI_Reduce_local(a, b, 9, type, MPI_MINLOC));                                                    \
    for (int k = 0; k < 9; k++) {                                                                             \
      int value_wins = k % 3 < 1, tie = k % 3 == 1;                                                           \
      CHECK(b[k].v == (value_wins ? (value)0 : (value)1));                                                    \
      CHECK(b[k].i == (index)(value_wins || (tie && k < 4) ? k : 4));                                         \
    }                                                                                                         \
  } while (0)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size_of_world;
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_world);
  MPI_Datatype type;
  static const struct { MPI_Datatype value, index, pair; } named[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT}, {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT}, {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_INT, MPI_INT, MPI_2INT}, {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT}, {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION}, {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    int ni, na, nd, combiner;
    CHECK_OK(MPI_Type_get_value_index(named[i].value, named[i].index, &type));
    CHECK(type == named[i].pair);
    CHECK_OK(MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner));
    CHECK_EQUAL(combiner, MPI_COMBINER_NAMED);
  }
  PAIR(MPI_DOUBLE, double, MPI_UINT64_T, uint64_t);
  PAIR(MPI_INT8_T, int8_t, MPI_LONG, long);
  PAIR(MPI_UINT16_T, uint16_t, MPI_INT8_T, int8_t);
  PAIR(MPI_LONG_DOUBLE, long double, MPI_LONG_LONG, long long);
  PAIR(MPI_FLOAT, float, MPI_SHORT, short);
  PAIR(MPI_AINT, MPI_Aint, MPI_COUNT, MPI_Count);
  PAIR(MPI_INTEGER8, int64_t, MPI_INTEGER, int);

  static const MPI_Datatype unordered[] = {MPI_BYTE, MPI_CHAR, MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL, MPI_LOGICAL, MPI_WCHAR,
                                           MPI_2INT, MPI_PACKED};
  for (size_t i = 0; i < sizeof unordered / sizeof *unordered; i++) {
    CHECK_OK(MPI_Type_get_value_index(unordered[i], MPI_INT, &type));
    CHECK(type == MPI_DATATYPE_NULL);
  }
  CHECK_OK(MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &type));
  CHECK(type == MPI_DATATYPE_NULL);
  MPI_Datatype derived;
  MPI_Type_dup(MPI_INT, &derived);
  CHECK_OK(MPI_Type_get_value_index(derived, MPI_INT, &type));
  CHECK(type == MPI_DATATYPE_NULL);
  MPI_Type_free(&derived);
  CHECK_CLASS(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_get_value_index(MPI_INT, MPI_INT, NULL), MPI_ERR_ARG);
  return check_end();
}
