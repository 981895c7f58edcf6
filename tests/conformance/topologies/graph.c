// Graphs that every rank knows whole.
#include "check.h"

int main(int argc, char **argv) {
  int rank, size, n, m, kind;
  MPI_Comm comm, again;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // A ring with a loop at each node, and a double edge from 0 to 0's left.
  int *index = malloc(size * sizeof(int)), *edges = malloc((3 * size + 1) * sizeof(int)), total = 0;
  for (int i = 0; i < size; i++) {
    edges[total++] = (i + 1) % size;
    edges[total++] = i;
    edges[total++] = (i + size - 1) % size;
    if (i == 0) edges[total++] = size - 1;
    index[i] = total;
  }
  for (int reorder = 0; reorder < 2; reorder++) {
    CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, reorder, &comm));
    int mine, *got_index = calloc(size, sizeof(int)), *got_edges = calloc(total, sizeof(int)), some[4];
    MPI_Comm_rank(comm, &mine);
    if (!reorder) CHECK_EQUAL(mine, rank);
    CHECK_OK(MPI_Topo_test(comm, &kind));
    CHECK_EQUAL(kind, MPI_GRAPH);
    CHECK_OK(MPI_Graphdims_get(comm, &n, &m));
    CHECK(n == size && m == total);
    CHECK_OK(MPI_Graph_get(comm, size, total, got_index, got_edges));
    CHECK(!memcmp(index, got_index, size * sizeof(int)) && !memcmp(edges, got_edges, total * sizeof(int)));
    for (int r = 0; r < size; r++) {
      int from = r ? index[r - 1] : 0;
      CHECK_OK(MPI_Graph_neighbors_count(comm, r, &n));
      CHECK_EQUAL(n, index[r] - from);
      CHECK_OK(MPI_Graph_neighbors(comm, r, 4, some));
      CHECK(!memcmp(some, edges + from, n * sizeof(int)));
    }
    // Ranks are what the graph says: what goes to the right neighbor comes from the left one.
    int right = (mine + 1) % size, left = (mine + size - 1) % size, got;
    MPI_Sendrecv(&mine, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, left);
    CHECK_OK(MPI_Comm_dup(comm, &again));
    CHECK_OK(MPI_Graphdims_get(again, &n, &m));
    CHECK(n == size && m == total);
    MPI_Comm_free(&again);
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_CLASS(MPI_Graph_neighbors(comm, size, 4, some), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Graph_neighbors(comm, 0, 3, some), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_neighbors_count(comm, -1, &n), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Graph_get(comm, size - 1, total, got_index, got_edges), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_get(comm, size, total - 1, got_index, got_edges), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cartdim_get(comm, &n), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&comm);
    free(got_index), free(got_edges);
  }
  int newrank, sum;
  CHECK_OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &newrank));
  MPI_Allreduce(&newrank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQUAL(sum, size * (size - 1) / 2);

  // One node: only rank 0 is in; none: nobody is.
  int one_index[1] = {1}, one_edge[1] = {0};
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, 1, one_index, one_edge, 0, &comm));
  CHECK_EQUAL(comm != MPI_COMM_NULL, rank == 0);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  CHECK_OK(MPI_Graph_map(MPI_COMM_WORLD, 1, one_index, one_edge, &newrank));
  CHECK(newrank == 0 || newrank == MPI_UNDEFINED);
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
  CHECK(comm == MPI_COMM_NULL);

  int down_index[2] = {2, 1}, out_edge[1] = {1};
  CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &comm), MPI_ERR_ARG);
  if (size > 1) CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 2, down_index, edges, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 1, one_index, out_edge, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 1, one_index, NULL, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n), MPI_ERR_TOPOLOGY);
  free(index), free(edges);
  return check_end();
}
