// Layouts at the edges: absolute addresses, negative strides and bounds, nothing at all, a thousand levels, sizes beyond
// int and beyond 63 bits, elements sent several times, types freed while in use. weft-test: ranks=1,2
#include "../check.h"
#include <limits.h>
#include <stdint.h>

static int peer;

// Sends with one type and receives with another, from and to buffers of this rank's peer (itself if alone).
static MPI_Status pass(const void *from, int n, MPI_Datatype a, void *to, int m, MPI_Datatype b) {
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv(from, n, a, peer, 7, to, m, b, peer, 7, MPI_COMM_WORLD, &status));
  return status;
}

static void absolute(void) {
  int number = 40 + check_rank, number_in = 0;
  double real = 1.5, real_in = 0;
  MPI_Aint at[4], base, there;
  MPI_Get_address(&number, &at[0]), MPI_Get_address(&real, &at[1]);
  MPI_Get_address(&number_in, &at[2]), MPI_Get_address(&real_in, &at[3]);
  MPI_Datatype out, in;
  CHECK_OK(MPI_Type_create_struct(2, (int[]){1, 1}, at, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &out));
  CHECK_OK(MPI_Type_create_struct(2, (int[]){1, 1}, at + 2, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &in));
  MPI_Type_commit(&out), MPI_Type_commit(&in);
  pass(MPI_BOTTOM, 1, out, MPI_BOTTOM, 1, in);
  CHECK(number_in == 40 + peer && real_in == 1.5);
  // The same with packing, broadcast and a request.
  char packed[64];
  int position = 0;
  CHECK_OK(MPI_Pack(MPI_BOTTOM, 1, out, packed, sizeof packed, &position, MPI_COMM_WORLD));
  number_in = 0, real_in = 0, position = 0;
  CHECK_OK(MPI_Unpack(packed, 12, &position, MPI_BOTTOM, 1, in, MPI_COMM_WORLD));
  CHECK(number_in == 40 + check_rank && real_in == 1.5);
  number_in = 0;
  CHECK_OK(MPI_Bcast(MPI_BOTTOM, 1, check_rank == 0 ? out : in, 0, MPI_COMM_WORLD));
  CHECK(check_rank == 0 || number_in == 40);
  MPI_Type_free(&out), MPI_Type_free(&in);
  // Address arithmetic.
  char array[100];
  MPI_Get_address(array + 10, &base), MPI_Get_address(array + 90, &there);
  CHECK(MPI_Aint_diff(there, base) == 80 && MPI_Aint_add(base, 80) == there);
  CHECK(MPI_Aint_diff(base, there) == -80 && MPI_Aint_add(there, -80) == base);
  CHECK(base == (MPI_Aint)(intptr_t)(array + 10));
}

static void negative(void) {
  int from[12], to[12], flat[6];
  for (int i = 0; i < 12; i++) from[i] = i + 100 * check_rank, to[i] = -1;
  MPI_Datatype back;
  MPI_Aint lb, extent;
  // From the last element backwards: (10 11) (7 8) (4 5) relative to element 10.
  CHECK_OK(MPI_Type_vector(3, 2, -3, MPI_INT, &back));
  MPI_Type_commit(&back);
  CHECK_OK(MPI_Type_get_extent(back, &lb, &extent));
  CHECK(lb == -24 && extent == 32);
  CHECK_OK(MPI_Type_get_true_extent(back, &lb, &extent));
  CHECK(lb == -24 && extent == 32);
  pass(from + 10, 1, back, flat, 6, MPI_INT);
  static const int order[] = {10, 11, 7, 8, 4, 5};
  for (int i = 0; i < 6; i++) CHECK_EQUAL(flat[i], order[i] + 100 * peer);
  pass(flat, 6, MPI_INT, to + 10, 1, back);
  for (int i = 0; i < 6; i++) CHECK_EQUAL(to[order[i]], order[i] + 100 * check_rank);
  CHECK(to[6] == -1 && to[9] == -1 && to[0] == -1);
  MPI_Type_free(&back);
  // A negative extent: instances go downwards.
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, -8, &back));
  MPI_Type_commit(&back);
  pass(from + 11, 3, back, flat, 3, MPI_INT);
  CHECK(flat[0] == 11 + 100 * peer && flat[1] == 9 + 100 * peer && flat[2] == 7 + 100 * peer);
  MPI_Type_free(&back);
  // One element sent three times.
  CHECK_OK(MPI_Type_vector(3, 1, 0, MPI_INT, &back));
  MPI_Type_commit(&back);
  pass(from + 5, 1, back, flat, 3, MPI_INT);
  CHECK(flat[0] == 5 + 100 * peer && flat[1] == flat[0] && flat[2] == flat[0]);
  MPI_Type_free(&back);
}

static void nothing(void) {
  MPI_Datatype empty[6];
  int value = 5, size, count;
  MPI_Aint lb, extent;
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty[0]));
  CHECK_OK(MPI_Type_vector(0, 3, 4, MPI_INT, &empty[1]));
  CHECK_OK(MPI_Type_vector(3, 0, 4, MPI_INT, &empty[2]));
  CHECK_OK(MPI_Type_create_struct(0, NULL, NULL, NULL, &empty[3]));
  CHECK_OK(MPI_Type_create_hindexed(2, (int[]){0, 0}, (MPI_Aint[]){8, 1000}, MPI_INT, &empty[4]));
  CHECK_OK(MPI_Type_create_resized(empty[0], -4, 20, &empty[5]));
  for (int i = 0; i < 6; i++) {
    CHECK_OK(MPI_Type_commit(&empty[i]));
    CHECK_OK(MPI_Type_size(empty[i], &size));
    CHECK_EQUAL(size, 0);
    CHECK_OK(MPI_Type_get_extent(empty[i], &lb, &extent));
    CHECK(lb == (i == 5 ? -4 : 0) && extent == (i == 5 ? 20 : 0));
    CHECK_OK(MPI_Type_get_true_extent(empty[i], &lb, &extent));
    CHECK(lb == 0 && extent == 0);
    MPI_Status status = pass(NULL, 3, empty[i], &value, 0, MPI_INT);
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQUAL(count, 0);
    CHECK_OK(MPI_Get_count(&status, empty[i], &count));
    CHECK_EQUAL(count, 0);
    CHECK_OK(MPI_Get_elements(&status, empty[i], &count));
    CHECK_EQUAL(count, 0);
    status = pass(&value, 1, MPI_INT, &count, 1, MPI_INT);
    CHECK_OK(MPI_Get_count(&status, empty[i], &count));
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Type_free(&empty[i]);
  }
  CHECK_EQUAL(value, 5);
}

static void deep(void) {
  // A thousand structures in each other, each adding a short somewhere, and a thousand duplicates on top.
  enum { LEVELS = 1000 };
  static short from[4 * LEVELS], to[4 * LEVELS];
  MPI_Datatype type = MPI_INT, next;
  for (int i = 1; i <= LEVELS; i++) {
    CHECK_OK(MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 6 * i}, (MPI_Datatype[]){type, MPI_SHORT}, &next));
    if (type != MPI_INT) MPI_Type_free(&type);
    type = next;
  }
  for (int i = 0; i < LEVELS; i++) {
    CHECK_OK(MPI_Type_dup(type, &next));
    MPI_Type_free(&type);
    type = next;
  }
  MPI_Type_commit(&type);
  int size, elements;
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, 4 + 2 * LEVELS);
  for (int i = 0; i < 4 * LEVELS; i++) from[i] = (short)i, to[i] = -1;
  MPI_Status status = pass(from, 1, type, to, 1, type);
  for (int i = 1; i <= LEVELS; i++) CHECK_EQUAL(to[3 * i], 3 * i);
  CHECK(to[0] == 0 && to[1] == 1 && to[2] == -1 && to[4] == -1);
  CHECK_OK(MPI_Get_elements(&status, type, &elements));
  CHECK_EQUAL(elements, 1 + LEVELS);
  MPI_Type_free(&type);
}

static void large(void) {
  MPI_Datatype type, pair;
  int size;
  MPI_Count x, lb, extent;
  MPI_Aint a, e;
  CHECK_OK(MPI_Type_contiguous_c(1LL << 40, MPI_DOUBLE, &type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, MPI_UNDEFINED);
  CHECK_OK(MPI_Type_size_x(type, &x));
  CHECK_EQUAL(x, 1LL << 43);
  CHECK_OK(MPI_Type_size_c(type, &x));
  CHECK_EQUAL(x, 1LL << 43);
  CHECK_OK(MPI_Type_get_extent(type, &a, &e));
  CHECK(a == 0 && e == 1LL << 43);
  CHECK_OK(MPI_Type_get_extent_x(type, &lb, &extent));
  CHECK(lb == 0 && extent == 1LL << 43);
  CHECK_OK(MPI_Type_get_true_extent_c(type, &lb, &extent));
  CHECK(lb == 0 && extent == 1LL << 43);
  MPI_Type_commit(&type);
  // More than 2^63 bytes: as a type, and as a message.
  CHECK_CLASS(MPI_Type_contiguous(INT_MAX, type, &pair), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_vector(2, 1, INT_MAX, type, &pair), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send_c(&size, 1LL << 20, type, peer, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  MPI_Status status;
  memset(&status, 0, sizeof status);
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_DOUBLE, 1LL << 40));
  CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE, &size));
  CHECK_EQUAL(size, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_elements_x(&status, MPI_DOUBLE, &x));
  CHECK_EQUAL(x, 1LL << 40);
  CHECK_OK(MPI_Get_elements_c(&status, MPI_DOUBLE, &x));
  CHECK_EQUAL(x, 1LL << 40);
  CHECK_OK(MPI_Get_count_c(&status, type, &x));
  CHECK_EQUAL(x, 1);
  MPI_Type_free(&type);
  // A terabyte of address space, but 80 bytes of data.
  CHECK_OK(MPI_Type_create_hvector_c(10, 1, 1LL << 37, MPI_DOUBLE, &type));
  CHECK_OK(MPI_Type_size(type, &size));
  CHECK_EQUAL(size, 80);
  CHECK_OK(MPI_Type_get_extent_c(type, &lb, &extent));
  CHECK(lb == 0 && extent == 9 * (1LL << 37) + 8);
  MPI_Type_free(&type);
}

// A type freed while operations use it lives until they are complete; what was built from it is not affected.
static void freed(void) {
  enum { N = 50000 };
  double *from = malloc(2 * N * sizeof *from), *to = malloc(2 * N * sizeof *to);
  for (int i = 0; i < 2 * N; i++) from[i] = i, to[i] = -1;
  MPI_Datatype column, built;
  MPI_Request requests[2], persistent;
  MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_contiguous(1, column, &built);
  MPI_Type_commit(&column);
  CHECK_OK(MPI_Irecv(to, 1, column, peer, 1, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Isend(from, 1, column, peer, 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Recv_init(to, 1, column, peer, 2, MPI_COMM_WORLD, &persistent));
  MPI_Datatype handle = column;
  CHECK_OK(MPI_Type_free(&column));
  CHECK(column == MPI_DATATYPE_NULL);
  CHECK_CLASS(MPI_Type_commit(&handle), MPI_ERR_TYPE);
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2 * N; i++) CHECK(to[i] == (i % 2 ? -1 : i));
  for (int i = 0; i < 2 * N; i++) to[i] = -1;
  CHECK_OK(MPI_Start(&persistent));
  CHECK_OK(MPI_Type_commit(&built));
  CHECK_OK(MPI_Send(from, 1, built, peer, 2, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
  CHECK(to[0] == 0 && to[1] == -1 && to[2 * N - 2] == 2 * N - 2);
  MPI_Request_free(&persistent);
  MPI_Type_free(&built);
  free(from), free(to);
}

// What is not committed can be built from but not communicated with.
static void uncommitted(void) {
  MPI_Datatype type, vector;
  int buffer[8] = {0}, position = 0;
  MPI_Request request;
  MPI_Status status;
  int flag;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  CHECK_CLASS(MPI_Send(buffer, 1, type, peer, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Ssend(buffer, 1, type, peer, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Recv(buffer, 1, type, peer, 0, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Isend(buffer, 1, type, peer, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Irecv(buffer, 1, type, peer, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Send_init(buffer, 1, type, peer, 0, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Sendrecv_replace(buffer, 1, type, peer, 0, peer, 0, MPI_COMM_WORLD, &status), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(buffer, 1, type, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Gather(buffer, 1, type, buffer + 4, 1, type, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Pack(buffer, 1, type, buffer, 32, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Unpack(buffer, 32, &position, buffer, 1, type, MPI_COMM_SELF), MPI_ERR_TYPE);
  CHECK_OK(MPI_Pack_size(1, type, MPI_COMM_SELF, &flag));
  // A duplicate is in the state of its original.
  CHECK_OK(MPI_Type_dup(type, &vector));
  CHECK_CLASS(MPI_Send(buffer, 1, vector, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  MPI_Type_free(&vector);
  CHECK_OK(MPI_Type_commit(&type));
  CHECK_OK(MPI_Type_commit(&type));
  CHECK_OK(MPI_Type_dup(type, &vector));
  CHECK_OK(MPI_Send(buffer, 1, vector, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  MPI_Type_free(&vector);
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  peer = size - 1 - check_rank;
  absolute();
  negative();
  nothing();
  deep();
  large();
  freed();
  uncommitted();
  return check_end();
}
