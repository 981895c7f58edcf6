// Operations that the standard does not define, but MPICH, Open MPI and Intel MPI do, and programs rely on: all on MPI_CHAR,
// which is a signed char then, and logical ones on MPI_AINT, MPI_COUNT and MPI_OFFSET. weft-test: faults=yes
#include "check.h"

enum { MANY = 5000 };

#define ALL_OPERATIONS(c, type, a, b)                       \
  do {                                                     \
    TRY(c, type, MPI_SUM, a, b, (c)((a) + (b)));           \
    TRY(c, type, MPI_PROD, a, b, (c)((a) * (b)));          \
    TRY(c, type, MPI_MAX, a, b, (a) > (b) ? (a) : (b));    \
    TRY(c, type, MPI_MIN, a, b, (a) < (b) ? (a) : (b));    \
    TRY(c, type, MPI_BAND, a, b, (a) & (b));               \
    TRY(c, type, MPI_BOR, a, b, (a) | (b));                \
    TRY(c, type, MPI_BXOR, a, b, (a) ^ (b));               \
    LOGICAL_OPERATIONS(c, type, a, b);                     \
  } while (0)

#define LOGICAL_OPERATIONS(c, type, a, b)          \
  do {                                             \
    TRY(c, type, MPI_LAND, a, b, (a) && (b));      \
    TRY(c, type, MPI_LOR, a, b, (a) || (b));       \
    TRY(c, type, MPI_LXOR, a, b, !(a) != !(b));    \
  } while (0)

// In one place, and among all ranks: the last has `b`, the others `a` and then what changes nothing.
#define TRY(c, type, op, a, b, wanted)                                                            \
  do {                                                                                            \
    static c in_[MANY], out_[MANY], result_[MANY];                                                \
    for (int i = 0; i < MANY; i++) in_[i] = (c)(a), out_[i] = (c)(b);                             \
    CHECK_OK(MPI_Reduce_local(in_, out_, MANY, type, op));                                        \
    for (int i = 0; i < MANY; i += 499) CHECK_EQUAL(out_[i], (c)(wanted));                        \
    for (int i = 0; i < MANY; i++) in_[i] = (c)(check_rank % 2 ? (b) : (a));                      \
    CHECK_OK(MPI_Allreduce(in_, out_, MANY, type, op, two));                                      \
    if (pairs) for (int i = 0; i < MANY; i += 499) CHECK_EQUAL(out_[i], (c)(wanted));             \
    MPI_Request request;                                                                          \
    CHECK_OK(MPI_Iallreduce(in_, result_, MANY, type, op, two, &request));                        \
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                              \
    CHECK(memcmp(out_, result_, sizeof out_) == 0);                                               \
    CHECK_OK(MPI_Scan(in_, result_, 3, type, op, two));                                           \
    if (pairs && check_rank % 2) CHECK(memcmp(out_, result_, 3 * sizeof(c)) == 0);                \
  } while (0)

int main(int argc, char **argv) {
  MPI_Comm two;
  int pairs;
  check_init(&argc, &argv);
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, check_rank, &two));
  CHECK_OK(MPI_Comm_size(two, &pairs));
  pairs = pairs == 2;
  ALL_OPERATIONS(signed char, MPI_CHAR, -3, 2);
  ALL_OPERATIONS(signed char, MPI_CHAR, 0, 100);
  LOGICAL_OPERATIONS(MPI_Aint, MPI_AINT, 6, 1);
  LOGICAL_OPERATIONS(MPI_Aint, MPI_AINT, (MPI_Aint)1 << 40, 0);
  LOGICAL_OPERATIONS(MPI_Count, MPI_COUNT, 0, -1);
  LOGICAL_OPERATIONS(MPI_Offset, MPI_OFFSET, 2, 4);

  // What they do not agree on is refused.
  char a[16] = {0}, b[16] = {0};
  MPI_Datatype refused[] = {MPI_WCHAR, MPI_CHARACTER, MPI_PACKED};
  for (int i = 0; i < 3; i++) CHECK_CLASS(MPI_Reduce_local(a, b, 1, refused[i], MPI_SUM), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_BYTE, MPI_LAND), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_INTEGER, MPI_LAND), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_C_BOOL, MPI_BAND), MPI_ERR_OP);
  CHECK_OK(MPI_Comm_free(&two));
  return check_end();
}
