// Neighborhood collectives on grids (periodic or not, with one or two ranks in a dimension), graphs, and distributed
// graphs with several edges between two ranks, edges to oneself and ranks without neighbors.
#include "values.h"

enum { MOST = 64 };
static int size, rank, sources, destinations;
// By place in the receive buffer: who sends, and which piece of its buffer.
static int from[MOST], piece[MOST], target[MOST];

static int letter(int sender, int place, int i, int turn) { return value(sender * 71 + place, i, turn); }

// The length of the piece that a sender has at a place, in the variants with different lengths.
static int length_of(int sender, int place, int count) { return (sender + place) % 3 * count; }

static void check_all(MPI_Comm comm, int count, int turn) {
  int wrong = 0, room = 2 * count + 1, lengths[2][MOST], places[2][MOST];
  MPI_Aint offsets[2][MOST];
  MPI_Datatype types[2][MOST];
  int *send = value_new(MOST * room), *receive = value_new(MOST * room);
  for (int i = 0; i < count; i++) send[i] = letter(rank, 0, i, turn);
  CHECK_OK(MPI_Neighbor_allgather(send, count, MPI_INT, receive, count, MPI_INT, comm));
  for (int s = 0; s < sources; s++)
    for (int i = 0; i < count; i++)
      wrong += receive[s * count + i] != (from[s] < 0 ? -1 : letter(from[s], 0, i, turn));
  CHECK_EQUAL(wrong, 0);

  // In reverse order and with gaps.
  for (int s = 0; s < sources; s++) {
    lengths[1][s] = from[s] < 0 ? count : length_of(from[s], 0, count);
    places[1][s] = (sources - 1 - s) * room;
  }
  for (int i = 0; i < MOST * room; i++) receive[i] = -1;
  for (int i = 0; i < 2 * count; i++) send[i] = letter(rank, 0, i, turn);
  CHECK_OK(MPI_Neighbor_allgatherv(send, length_of(rank, 0, count), MPI_INT, receive, lengths[1], places[1], MPI_INT,
                                   comm));
  for (int s = 0; s < sources; s++)
    for (int i = 0; i < room; i++) {
      int filled = from[s] >= 0 && i < lengths[1][s];
      wrong += receive[places[1][s] + i] != (filled ? letter(from[s], 0, i, turn) : -1);
    }
  CHECK_EQUAL(wrong, 0);

  for (int d = 0; d < destinations; d++)
    for (int i = 0; i < count; i++) send[d * count + i] = letter(rank, d, i, turn);
  for (int i = 0; i < MOST * room; i++) receive[i] = -1;
  CHECK_OK(MPI_Neighbor_alltoall(send, count, MPI_INT, receive, count, MPI_INT, comm));
  for (int s = 0; s < sources; s++)
    for (int i = 0; i < count; i++)
      wrong += receive[s * count + i] != (from[s] < 0 ? -1 : letter(from[s], piece[s], i, turn));
  CHECK_EQUAL(wrong, 0);

  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int d = 0; d < destinations; d++) {
    lengths[0][d] = target[d] < 0 ? 1 : length_of(rank, d, count);
    places[0][d] = (destinations - 1 - d) * room;
    offsets[0][d] = places[0][d] * (MPI_Aint)sizeof(int);
    types[0][d] = MPI_INT;
    for (int i = 0; i < 2 * count; i++) send[places[0][d] + i] = letter(rank, d, i, turn);
  }
  for (int s = 0; s < sources; s++) {
    lengths[1][s] = from[s] < 0 ? 1 : length_of(from[s], piece[s], count);
    offsets[1][s] = places[1][s] * (MPI_Aint)sizeof(int);
    types[1][s] = MPI_INT;
  }
  for (int way = 0; way < 2; way++) {
    for (int i = 0; i < MOST * room; i++) receive[i] = -1;
    if (way == 0)
      CHECK_OK(MPI_Neighbor_alltoallv(send, lengths[0], places[0], MPI_INT, receive, lengths[1], places[1], MPI_INT,
                                      comm));
    else {
      // Pairs where the length is even.
      for (int s = 0; s < sources; s++)
        if (from[s] >= 0 && lengths[1][s] % 2 == 0) lengths[1][s] /= 2, types[1][s] = pair;
      CHECK_OK(MPI_Neighbor_alltoallw(send, lengths[0], offsets[0], types[0], receive, lengths[1], offsets[1], types[1],
                                      comm));
    }
    for (int s = 0; s < sources; s++)
      for (int i = 0; i < room; i++) {
        int filled = from[s] >= 0 && i < length_of(from[s], piece[s], count);
        wrong += receive[places[1][s] + i] != (filled ? letter(from[s], piece[s], i, turn) : -1);
      }
    CHECK_EQUAL(wrong, 0);
  }
  MPI_Type_free(&pair);
  free(send);
  free(receive);
}

static void grid(int dimensions, int *lengths, int *periods) {
  MPI_Comm comm;
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, dimensions, lengths, periods, 1, &comm));
  if (comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(comm, &rank);
  sources = destinations = 2 * dimensions;
  for (int d = 0; d < dimensions; d++) {
    int below, above;
    MPI_Cart_shift(comm, d, 1, &below, &above);
    from[2 * d] = target[2 * d] = below == MPI_PROC_NULL ? -1 : below;
    from[2 * d + 1] = target[2 * d + 1] = above == MPI_PROC_NULL ? -1 : above;
    piece[2 * d] = 2 * d + 1;
    piece[2 * d + 1] = 2 * d;
  }
  for (int turn = 0; turn < VALUE_COUNTS - 1; turn++) check_all(comm, value_counts[turn], turn);
  MPI_Comm_free(&comm);
}

static void ring_graph(void) {
  int index[MOST], edges[2 * MOST], found[MOST];
  MPI_Comm comm;
  for (int r = 0; r < size; r++) {
    index[r] = 2 * (r + 1);
    edges[2 * r] = (r + size - 1) % size;
    edges[2 * r + 1] = (r + 1) % size;
  }
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
  MPI_Comm_rank(comm, &rank);
  sources = destinations = 2;
  CHECK_OK(MPI_Graph_neighbors(comm, rank, 2, found));
  for (int s = 0; s < 2; s++) {
    from[s] = target[s] = found[s];
    // With several edges between two ranks the first goes with the first.
    piece[s] = size > 2 ? 1 - s : s;
  }
  for (int turn = 0; turn < 5; turn++) check_all(comm, value_counts[turn], turn);
  MPI_Comm_free(&comm);
}

// Where rank r sends to: ranks that are a multiple of 5 to nobody, even ones to the next rank twice.
static int sends_to(int r, int *to) {
  int n = 0;
  if (r % 5 == 0 && size > 1) return 0;
  to[n++] = (r + 1) % size;
  to[n++] = (2 * r + 1) % size;
  to[n++] = r;
  if (r % 2 == 0) to[n++] = (r + 1) % size;
  return n;
}

static void distributed(void) {
  MPI_Comm comm;
  rank = check_rank;
  destinations = sends_to(rank, target);
  sources = 0;
  for (int r = size - 1; r >= 0; r--) {
    int to[4], n = sends_to(r, to);
    for (int d = 0; d < n; d++)
      if (to[d] == rank) from[sources] = r, piece[sources++] = d;
  }
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, from, MPI_UNWEIGHTED, destinations, target,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  for (int turn = 0; turn < VALUE_COUNTS - 1; turn++) check_all(comm, value_counts[turn], turn);
  // Without neighbors there is nothing to point to.
  if (sources == 0 && destinations == 0)
    CHECK_OK(MPI_Neighbor_alltoallv(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT, comm));
  else if (sources == 0)
    CHECK_OK(MPI_Neighbor_alltoallv(NULL, (int[4]){0}, (int[4]){0}, MPI_INT, NULL, NULL, NULL, MPI_INT, comm));
  else
    CHECK_OK(MPI_Neighbor_alltoallv(NULL, (int[MOST]){0}, (int[MOST]){0}, MPI_INT, NULL, (int[MOST]){0},
                                    (int[MOST]){0}, MPI_INT, comm));
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  grid(1, (int[]){size}, (int[]){1});
  grid(1, (int[]){size}, (int[]){0});
  if (size > 1) grid(1, (int[]){size - 1}, (int[]){1});
  grid(3, (int[]){size, 1, 1}, (int[]){0, 1, 0});
  if (size % 2 == 0) {
    grid(2, (int[]){2, size / 2}, (int[]){1, 0});
    grid(2, (int[]){2, size / 2}, (int[]){0, 1});
  }
  if (size >= 16) grid(2, (int[]){4, 4}, (int[]){1, 1});
  ring_graph();
  distributed();
  int x = 0, y[8];
  CHECK_CLASS(MPI_Neighbor_allgather(&x, 1, MPI_INT, y, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
  return check_end();
}
