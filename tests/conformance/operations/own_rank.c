// A user's operation is called by a thread of the rank whose call it is: with that rank's globals, thread-local variables and
// handles, in every form of a reduction, also where other ranks or other processes drive it. The datatype is derived; its
// name says whose it is.
// weft-test: ranks=1,2,5,6
#include "check.h"
#include <pthread.h>

enum { SMALL = 3, LARGE = 3000, MOST = 6 };

static int whose = -1, size;
static __thread int whose_thread = -1;
static pthread_t thread;
static MPI_Datatype type;
static int wrong, calls;

// inout = in . inout, of elements that say which ranks they are made of: {lowest, highest}; wrong if they are not neighbors.
static void join(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  int *a = in, *b = inout, rank = -1, bytes = 0, characters = 0;
  char name[MPI_MAX_OBJECT_NAME] = "", expected[64];
  calls++;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(expected, sizeof expected, "datatype of rank %d", whose);
  wrong += rank != whose || whose_thread != whose || !pthread_equal(thread, pthread_self());
  wrong += *datatype != type;
  wrong += MPI_Type_size(*datatype, &bytes) != MPI_SUCCESS || bytes != 2 * (int)sizeof(int);
  wrong += MPI_Type_get_name(*datatype, name, &characters) != MPI_SUCCESS || strcmp(name, expected) != 0;
  for (int i = 0; i < *length; i++, a += 2, b += 2) {
    if (a[1] + 1 != b[0]) b[1] = -1000000;
    b[0] = a[0];
  }
}

// The same without an order: the lowest, and how many.
static void gather(void *in, void *inout, int *length, MPI_Datatype *datatype) {
  int *a = in, *b = inout, *copy = malloc(2 * sizeof(int) * *length);
  memcpy(copy, b, 2 * sizeof(int) * *length);
  join(in, copy, length, datatype);
  free(copy);
  for (int i = 0; i < *length; i++, a += 2, b += 2) {
    b[0] = a[0] < b[0] ? a[0] : b[0];
    b[1] += a[1];
  }
}

static int *send, *receive;

static void fill(int count, int commutes) {
  for (int i = 0; i < count; i++) {
    send[2 * i] = check_rank;
    send[2 * i + 1] = commutes ? 1 : check_rank;
  }
  memset(receive, -1, 2 * sizeof(int) * LARGE * MOST);
}

// The first elements are those of ranks 0 to `last`.
static void check(int count, int last, int commutes) {
  int bad = 0;
  for (int i = 0; i < count; i++) bad += receive[2 * i] != 0 || receive[2 * i + 1] != (commutes ? last + 1 : last);
  CHECK_EQUAL(bad, 0);
}

static void finish(MPI_Request *request, int is_persistent) {
  if (is_persistent) CHECK_OK(MPI_Start(request));
  CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  if (is_persistent) CHECK_OK(MPI_Request_free(request));
}

#define FORMS(name, ...)                                                                              \
  do {                                                                                                \
    if (form == 0) CHECK_OK(MPI_##name(__VA_ARGS__));                                                 \
    if (form == 1) CHECK_OK(MPI_I##name(__VA_ARGS__, &request));                                      \
    if (form == 2) CHECK_OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request));                 \
    if (form > 0) finish(&request, form == 2);                                                        \
  } while (0)

// The nonblocking names are written in lower case.
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan

static void all_calls(MPI_Op op, int commutes, int count, int form, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  int counts[MOST], root = size - 1;
  for (int i = 0; i < size; i++) counts[i] = count;
  fill(count, commutes);
  FORMS(Reduce, send, receive, count, type, op, root, comm);
  if (check_rank == root) check(count, size - 1, commutes);
  fill(count, commutes);
  FORMS(Allreduce, send, receive, count, type, op, comm);
  check(count, size - 1, commutes);
  fill(count * size, commutes);
  FORMS(Reduce_scatter_block, send, receive, count, type, op, comm);
  check(count, size - 1, commutes);
  fill(count * size, commutes);
  FORMS(Reduce_scatter, send, receive, counts, type, op, comm);
  check(count, size - 1, commutes);
  fill(count, commutes);
  FORMS(Scan, send, receive, count, type, op, comm);
  check(count, check_rank, commutes);
  fill(count, commutes);
  FORMS(Exscan, send, receive, count, type, op, comm);
  if (check_rank > 0) check(count, check_rank - 1, commutes);
}

// A rank that has started a reduction and waits for something else is in the library, so the reduction goes on: rank 0 sends
// the others what they wait for when it has the result. They wait in a receive, a probe, a wait, or a barrier of those that
// share memory, for the last of them.
static int is_last, last_ones[MOST];

static void while_elsewhere(MPI_Op op, int count, int how, MPI_Comm near) {
  MPI_Request request, message;
  int token = 0;
  fill(count, 0);
  if (how & 1)
    CHECK_OK(MPI_Ireduce(send, receive, count, type, op, 0, MPI_COMM_WORLD, &request));
  else
    CHECK_OK(MPI_Iallreduce(send, receive, count, type, op, MPI_COMM_WORLD, &request));
  if (check_rank == 0) {
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(count, size - 1, 0);
    for (int to = 1; to < size; to++)
      if (how / 2 < 3 || last_ones[to]) CHECK_OK(MPI_Send(&how, 1, MPI_INT, to, 5, MPI_COMM_WORLD));
    return;
  }
  switch (how / 2) {
  case 0: CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); break;
  case 1:
    CHECK_OK(MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    break;
  case 2:
    CHECK_OK(MPI_Irecv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &message));
    CHECK_OK(MPI_Wait(&message, MPI_STATUS_IGNORE));
    break;
  default:
    if (is_last) CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Barrier(near));
    token = how;
  }
  CHECK_EQUAL(token, how);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (!(how & 1)) check(count, size - 1, 0);
}

int main(int argc, char **argv) {
  MPI_Op ordered, free_order;
  MPI_Comm others, near;
  int near_rank, near_size;
  char name[64];
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  whose = whose_thread = check_rank;
  thread = pthread_self();
  send = malloc(2 * sizeof(int) * LARGE * MOST);
  receive = malloc(2 * sizeof(int) * LARGE * MOST);
  // Handles differ from rank to rank.
  MPI_Datatype padding[MOST];
  for (int i = 0; i < check_rank; i++) CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &padding[i]));
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  snprintf(name, sizeof name, "datatype of rank %d", check_rank);
  CHECK_OK(MPI_Type_set_name(type, name));
  CHECK_OK(MPI_Op_create(join, 0, &ordered));
  CHECK_OK(MPI_Op_create(gather, 1, &free_order));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0, 0, &others));
  CHECK_OK(MPI_Comm_split_type(others, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near));
  CHECK_OK(MPI_Comm_rank(near, &near_rank));
  CHECK_OK(MPI_Comm_size(near, &near_size));
  is_last = near_rank == near_size - 1;
  CHECK_OK(MPI_Gather(&is_last, 1, MPI_INT, last_ones, 1, MPI_INT, 0, MPI_COMM_WORLD));
  for (int form = 0; form < 3; form++)
    for (int commutes = 0; commutes < 2; commutes++)
      for (int round = 0; round < 6; round++)
        all_calls(commutes ? free_order : ordered, commutes, round % 2 ? LARGE : SMALL, form, MPI_COMM_WORLD);
  for (int round = 0; round < 8 * 8; round++) while_elsewhere(ordered, round & 8 ? LARGE : SMALL, round % 8, near);
  CHECK_EQUAL(wrong, 0);
  int all = 0;
  CHECK_OK(MPI_Allreduce(&calls, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(size == 1 || all > 0);
  CHECK_OK(MPI_Comm_free(&others));
  CHECK_OK(MPI_Comm_free(&near));
  CHECK_OK(MPI_Type_free(&type));
  for (int i = 0; i < check_rank; i++) CHECK_OK(MPI_Type_free(&padding[i]));
  CHECK_OK(MPI_Op_free(&ordered));
  CHECK_OK(MPI_Op_free(&free_order));
  return check_end();
}
