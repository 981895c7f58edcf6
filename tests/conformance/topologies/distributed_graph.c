// Distributed graphs: edges given by their ends or by others, weighted and not, kept in order and passed on to duplicates.
#include "check.h"

// The graph: i sends to i+1 with weight i and to i+2 with weight 100+i (modulo the size).
static void adjacent(int size, int weighted, int reorder) {
  int world, rank, n, m, has, kind;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  int sources[2] = {(world + 2 * size - 2) % size, (world + size - 1) % size};
  int source_weights[2] = {100 + sources[0], sources[1]};
  int destinations[2] = {(world + 2) % size, (world + 1) % size}, destination_weights[2] = {100 + world, world};
  MPI_Comm comm, again;
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, weighted ? source_weights : MPI_UNWEIGHTED, 2,
                                          destinations, weighted ? destination_weights : MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, reorder, &comm));
  MPI_Comm_rank(comm, &rank);
  if (!reorder) CHECK_EQUAL(rank, world);
  CHECK_OK(MPI_Topo_test(comm, &kind));
  CHECK_EQUAL(kind, MPI_DIST_GRAPH);
  CHECK_OK(MPI_Comm_dup(comm, &again));
  MPI_Comm_free(&comm);
  CHECK_OK(MPI_Dist_graph_neighbors_count(again, &n, &m, &has));
  CHECK(n == 2 && m == 2);
  CHECK_EQUAL(has != 0, weighted);
  int got[2][2], got_weights[2][2] = {{-1, -1}, {-1, -1}};
  CHECK_OK(MPI_Dist_graph_neighbors(again, 2, got[0], got_weights[0], 2, got[1], got_weights[1]));
  // In the order in which the rank of this number gave them.
  int from[2] = {(rank + 2 * size - 2) % size, (rank + size - 1) % size}, to[2] = {(rank + 2) % size, (rank + 1) % size};
  for (int i = 0; i < 2; i++) {
    CHECK_EQUAL(got[0][i], from[i]);
    CHECK_EQUAL(got[1][i], to[i]);
    CHECK_EQUAL(got_weights[0][i], weighted ? (i ? 0 : 100) + from[i] : -1);
    CHECK_EQUAL(got_weights[1][i], weighted ? (i ? 0 : 100) + rank : -1);
  }
  // Room for one: the first one.
  int first[2] = {-1, -1};
  CHECK_OK(MPI_Dist_graph_neighbors(again, 1, first, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
  CHECK(first[0] == from[0] && first[1] == -1);
  MPI_Comm_free(&again);
}

// Rank 0 gives all edges of a star with itself in the middle, the last rank a loop at each node.
static void by_others(int size, int weighted, int reorder) {
  int world, rank, n, m, has, count = 0, total = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  int *sources = malloc(2 * size * sizeof(int)), *degrees = malloc(2 * size * sizeof(int));
  int *destinations = malloc(2 * size * sizeof(int)), *weights = malloc(2 * size * sizeof(int));
  if (world == 0) {
    sources[count] = 0, degrees[count++] = size - 1;
    for (int i = 1; i < size; i++) destinations[total] = i, weights[total++] = 10 * i;
  }
  if (world == size - 1) {
    for (int i = 0; i < size; i++) {
      sources[count] = i, degrees[count++] = 1;
      destinations[total] = i, weights[total++] = 7;
    }
  }
  MPI_Comm comm;
  CHECK_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, count, sources, degrees, destinations,
                                 !weighted ? MPI_UNWEIGHTED : total ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL,
                                 reorder, &comm));
  MPI_Comm_rank(comm, &rank);
  CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &n, &m, &has));
  CHECK_EQUAL(n, rank == 0 ? 1 : 2);
  CHECK_EQUAL(m, rank == 0 ? size : 1);
  CHECK_EQUAL(has != 0, weighted);
  int *in = malloc(size * sizeof(int)), *in_weights = calloc(size, sizeof(int));
  int *out = malloc(size * sizeof(int)), *out_weights = calloc(size, sizeof(int));
  CHECK_OK(MPI_Dist_graph_neighbors(comm, n, in, in_weights, m, out, out_weights));
  int loops = 0, star = 0;
  for (int i = 0; i < n; i++) {
    int own = in[i] == rank;
    loops += own, star += !own;
    if (!own) CHECK_EQUAL(in[i], 0);
    CHECK_EQUAL(in_weights[i], !weighted ? 0 : own ? 7 : 10 * rank);
  }
  CHECK(loops == 1 && star == (rank != 0));
  char *seen = calloc(size, 1);
  for (int i = 0; i < m; i++) {
    CHECK(out[i] >= 0 && out[i] < size && !seen[out[i]]);
    seen[out[i]] = 1;
    CHECK_EQUAL(out_weights[i], !weighted ? 0 : out[i] == rank ? 7 : 10 * out[i]);
  }
  CHECK(seen[rank]);
  free(seen), free(in), free(in_weights), free(out), free(out_weights);
  free(sources), free(degrees), free(destinations), free(weights);
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  int size, rank, n;
  MPI_Comm comm;
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int way = 0; way < 4; way++) {
    adjacent(size, way & 1, way & 2);
    by_others(size, way & 1, way & 2);
  }
  // No edge at all.
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                          MPI_INFO_NULL, 1, &comm));
  int in = -1, out = -1, weighted = -1;
  CHECK_OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  CHECK(in == 0 && out == 0 && weighted == 1);
  MPI_Comm_free(&comm);

  // What is refused before anybody waits.
  int me[1] = {rank}, outside[1] = {size}, minus[1] = {-1}, one[1] = {1};
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, outside, one, 1, me, one, MPI_INFO_NULL, 0, &comm),
              MPI_ERR_RANK);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, me, minus, 1, me, one, MPI_INFO_NULL, 0, &comm),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, me, MPI_UNWEIGHTED, 1, me, one, MPI_INFO_NULL, 0, &comm),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, me, one, 1, me, one, MPI_INFO_NULL, 0, &comm),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, me, MPI_WEIGHTS_EMPTY, 1, me, one, MPI_INFO_NULL, 0, &comm),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, me, minus, me, one, MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, minus, one, me, one, MPI_INFO_NULL, 0, &comm), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, -3, me, one, me, one, MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &n, &n, &n), MPI_ERR_TOPOLOGY);
  // Weights on one rank and none on another: all hear of it.
  if (size > 1)
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, me, one, me, rank ? one : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
                MPI_ERR_ARG);
  return check_end();
}
