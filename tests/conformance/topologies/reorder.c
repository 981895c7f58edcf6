// weft-test: ranks=16 schedulers=user workers=4
// Reordered topologies put neighbors on one worker. Ranks of MPI_COMM_WORLD are at home on the four workers in blocks of
// four; a 4 x 4 grid in blocks of rows has 24 edges between workers, in squares 16.
// weft-test: among=threads
#include "check.h"

// Counts the edges of the caller's rank to ranks of other workers, and adds up those of all ranks.
static int crossing(MPI_Comm comm, const int *neighbors, int n) {
  MPI_Group group, world;
  int mine, all, count = 0;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  for (int i = 0; i < n; i++) {
    int other;
    if (neighbors[i] == MPI_PROC_NULL) continue;
    MPI_Group_translate_ranks(group, 1, &neighbors[i], world, &other);
    count += other / 4 != mine / 4;
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Allreduce(&count, &all, 1, MPI_INT, MPI_SUM, comm);
  return all;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int dims[2] = {4, 4}, periods[2] = {0, 0}, neighbors[4], mapped, rank, world;
  MPI_Comm grid, graph;
  MPI_Comm_rank(MPI_COMM_WORLD, &world);
  for (int reorder = 0; reorder < 2; reorder++) {
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &grid));
    MPI_Cart_shift(grid, 0, 1, &neighbors[0], &neighbors[1]);
    MPI_Cart_shift(grid, 1, 1, &neighbors[2], &neighbors[3]);
    CHECK_EQUAL(crossing(grid, neighbors, 4), reorder ? 16 : 24);
    MPI_Comm_rank(grid, &rank);
    CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    if (reorder) CHECK_EQUAL(mapped, rank);
    if (!reorder) {
      // The same grid as a graph.
      int in[4], n = 0;
      for (int i = 0; i < 4; i++) if (neighbors[i] != MPI_PROC_NULL) in[n++] = neighbors[i];
      CHECK_OK(MPI_Dist_graph_create_adjacent(grid, n, in, MPI_UNWEIGHTED, n, in, MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &graph));
      int sources[4], destinations[4], out, weighted;
      CHECK_OK(MPI_Dist_graph_neighbors_count(graph, &n, &out, &weighted));
      CHECK_OK(MPI_Dist_graph_neighbors(graph, 4, sources, MPI_UNWEIGHTED, 4, destinations, MPI_UNWEIGHTED));
      CHECK(crossing(graph, destinations, out) < 24);
      MPI_Comm_free(&graph);
    }
    MPI_Comm_free(&grid);
  }
  return check_end();
}
