// Collective calls with MPI_BOTTOM for both buffers, or one address for both, where only the datatypes say where the
// data is: it moves, in all forms.
#include "../check.h"

enum { MOST = 32 };
static int out[2 * MOST], in[2 * MOST], size;
static MPI_Comm comm;

// One integer at an offset from an address.
static MPI_Datatype at(MPI_Aint base, int *place) {
  int one = 1;
  MPI_Aint offset;
  MPI_Datatype type, integer = MPI_INT;
  MPI_Get_address(place, &offset);
  offset = MPI_Aint_diff(offset, base);
  CHECK_OK(MPI_Type_create_struct(1, &one, &offset, &integer, &type));
  CHECK_OK(MPI_Type_commit(&type));
  return type;
}

static void reset(void) {
  for (int i = 0; i < 2 * MOST; i++) out[i] = 100 * check_rank + i, in[i] = -1;
}

// What came from rank r is at in[r]; factor tells what it sent: its element `factor * own rank`.
static void expect(int line, int parts, int factor) {
  for (int r = 0; r < MOST; r++) {
    int wanted = r < parts ? 100 * r + factor * check_rank : -1;
    if (in[r] != wanted) fprintf(stderr, "line %d:\n", line);
    CHECK_EQUAL(in[r], wanted);
  }
  reset();
}

static void finish(MPI_Request *request, int starts) {
  for (int i = 0; i < starts; i++) CHECK_OK(MPI_Start(request));
  CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  if (starts) CHECK_OK(MPI_Request_free(request));
}

// The calls with a type for each rank; `base` is the address of both buffers.
static void typed(void *base) {
  MPI_Aint start;
  MPI_Datatype sends[MOST], receives[MOST];
  MPI_Request request;
  int ones[MOST], zeros[MOST] = {0};
  MPI_Get_address(base, &start);
  for (int r = 0; r < size; r++) ones[r] = 1, sends[r] = at(start, &out[r]), receives[r] = at(start, &in[r]);
  CHECK_OK(MPI_Alltoallw(base, ones, zeros, sends, base, ones, zeros, receives, comm));
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Ialltoallw(base, ones, zeros, sends, base, ones, zeros, receives, comm, &request));
  finish(&request, 0);
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Alltoallw_init(base, ones, zeros, sends, base, ones, zeros, receives, comm, MPI_INFO_NULL, &request));
  finish(&request, 1);
  expect(__LINE__, size, 1);

  // On a graph in which everybody is everybody's neighbour.
  int ranks[MOST];
  MPI_Aint aints[MOST] = {0};
  MPI_Comm graph;
  for (int r = 0; r < size; r++) ranks[r] = r;
  CHECK_OK(MPI_Dist_graph_create_adjacent(comm, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                          0, &graph));
  CHECK_OK(MPI_Neighbor_alltoallw(base, ones, aints, sends, base, ones, aints, receives, graph));
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Ineighbor_alltoallw(base, ones, aints, sends, base, ones, aints, receives, graph, &request));
  finish(&request, 0);
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Comm_free(&graph));
  for (int r = 0; r < size; r++) MPI_Type_free(&sends[r]), MPI_Type_free(&receives[r]);
}

// The calls with one type for all.
static void plain(void *base) {
  MPI_Aint start;
  MPI_Request request;
  int ones[MOST], places[MOST], last = size - 1, mine = check_rank == last;
  MPI_Get_address(base, &start);
  for (int r = 0; r < size; r++) ones[r] = 1, places[r] = r;
  MPI_Datatype send = at(start, out), receive = at(start, in);

  CHECK_OK(MPI_Alltoall(base, 1, send, base, 1, receive, comm));
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Alltoallv(base, ones, places, send, base, ones, places, receive, comm));
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Ialltoallv(base, ones, places, send, base, ones, places, receive, comm, &request));
  finish(&request, 0);
  expect(__LINE__, size, 1);
  CHECK_OK(MPI_Alltoallv_init(base, ones, places, send, base, ones, places, receive, comm, MPI_INFO_NULL, &request));
  finish(&request, 1);
  expect(__LINE__, size, 1);

  CHECK_OK(MPI_Allgather(base, 1, send, base, 1, receive, comm));
  expect(__LINE__, size, 0);
  CHECK_OK(MPI_Allgatherv(base, 1, send, base, ones, places, receive, comm));
  expect(__LINE__, size, 0);
  CHECK_OK(MPI_Iallgatherv(base, 1, send, base, ones, places, receive, comm, &request));
  finish(&request, 0);
  expect(__LINE__, size, 0);

  CHECK_OK(MPI_Gather(base, 1, send, base, 1, receive, last, comm));
  expect(__LINE__, mine ? size : 0, 0);
  CHECK_OK(MPI_Gatherv(base, 1, send, base, ones, places, receive, last, comm));
  expect(__LINE__, mine ? size : 0, 0);
  CHECK_OK(MPI_Igatherv(base, 1, send, base, ones, places, receive, last, comm, &request));
  finish(&request, 0);
  expect(__LINE__, mine ? size : 0, 0);

  CHECK_OK(MPI_Scatter(base, 1, send, base, 1, receive, last, comm));
  CHECK_EQUAL(in[0], 100 * last + check_rank);
  reset();
  CHECK_OK(MPI_Scatterv(base, ones, places, send, base, 1, receive, last, comm));
  CHECK_EQUAL(in[0], 100 * last + check_rank);
  reset();
  CHECK_OK(MPI_Iscatterv(base, ones, places, send, base, 1, receive, last, comm, &request));
  finish(&request, 0);
  CHECK_EQUAL(in[0], 100 * last + check_rank);
  reset();
  MPI_Type_free(&send), MPI_Type_free(&receive);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  reset();
  // Alone, too: the rank's own part takes another way than the others'.
  int world = size, rank = check_rank;
  for (int alone = 0; alone < 2; alone++) {
    comm = alone ? MPI_COMM_SELF : MPI_COMM_WORLD, size = alone ? 1 : world, check_rank = alone ? 0 : rank;
    reset();
    typed(MPI_BOTTOM), plain(MPI_BOTTOM);
    typed(out), plain(out);
  }
  check_rank = rank;
  return check_end();
}
