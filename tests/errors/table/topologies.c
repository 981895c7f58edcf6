// Chapter 8: process topologies.
#include "table.h"

void topologies(void) {
  MPI_Comm made, grid;
  int dims[2] = {size, 1}, periods[2] = {0, 0}, coords[2] = {0, 0}, zero[2] = {0, 0}, negative[2] = {-1, 1};
  int large[2] = {1000, 1000}, far[2] = {99, 0};
  int nodes[2] = {1, 2}, edges[2] = {1, 5};
  WRONG("ndims is -1", MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_SELF, -1, dims, periods, 0, &made));
  WRONG("dims is a null pointer", MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_SELF, 2, NULL, periods, 0, &made));
  WRONG("periods is a null pointer", MPI_ERR_ARG, MPI_Cart_create(MPI_COMM_SELF, 2, dims, NULL, 0, &made));
  WRONG("comm_old is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &made));
  WRONG("dims[0] is -1", MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_SELF, 2, negative, periods, 0, &made));
  WRONG("1000000", MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_SELF, 2, large, periods, 0, &made));
  WRONG("this call needs a Cartesian topology", MPI_ERR_TOPOLOGY, MPI_Cart_rank(world, coords, &number));
  WRONG("this call needs a Cartesian topology", MPI_ERR_TOPOLOGY, MPI_Cartdim_get(world, &number));
  WRONG("this call needs a Cartesian topology", MPI_ERR_TOPOLOGY, MPI_Cart_coords(world, 0, 2, coords));
  WRONG("this call needs a graph topology", MPI_ERR_TOPOLOGY, MPI_Graph_neighbors_count(world, 0, &number));
  if (MPI_Cart_create(world, 2, dims, periods, 0, &grid) != MPI_SUCCESS) return;
  WRONG("coords[0] is 99", MPI_ERR_ARG, MPI_Cart_rank(grid, far, &number));
  WRONG("rank is 4444", MPI_ERR_RANK, MPI_Cart_coords(grid, 4444, 2, coords));
  WRONG("maxdims is 1", MPI_ERR_ARG, MPI_Cart_coords(grid, 0, 1, coords));
  WRONG("direction is 2", MPI_ERR_DIMS, MPI_Cart_shift(grid, 2, 1, &number, &flag));
  WRONG("direction is -1", MPI_ERR_DIMS, MPI_Cart_shift(grid, -1, 1, &number, &flag));
  WRONG("this call needs a graph topology", MPI_ERR_TOPOLOGY, MPI_Graphdims_get(grid, &number, &flag));
  WRONG("remain_dims is a null pointer", MPI_ERR_ARG, MPI_Cart_sub(grid, NULL, &made));
  MPI_Comm_free(&grid);
  WRONG("nnodes is -1", MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_SELF, -1, nodes, edges, 0, &made));
  WRONG("the graph has nodes 0 to", MPI_ERR_ARG, MPI_Graph_create(world, 2 <= size ? 2 : 1, size > 1 ? nodes : nodes + 1, edges, 0, &made));
  WRONG("nnodes is 0", MPI_ERR_ARG, MPI_Dims_create(0, 2, zero));
  WRONG("dims[0] is -1", MPI_ERR_DIMS, MPI_Dims_create(4, 2, negative));
  int three[2] = {3, 0};
  WRONG("which does not divide nnodes, 4", MPI_ERR_DIMS, MPI_Dims_create(4, 2, three));
  WRONG("ndims is -2", MPI_ERR_DIMS, MPI_Dims_create(4, -2, zero));
  WRONG("dims is a null pointer", MPI_ERR_ARG, MPI_Dims_create(4, 2, NULL));
}
