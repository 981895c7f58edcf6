// Grids: creation, coordinates, ranks, shifts, subgrids, duplicates, and what is refused.
#include "check.h"

static int product(const int *dims, int n) {
  int all = 1;
  for (int i = 0; i < n; i++) all *= dims[i];
  return all;
}

static void grid(int rank, int size, int reorder) {
  int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, got_dims[3], got_periods[3], coords[3], mine[3], kind, n, old = rank;
  MPI_Comm comm, again;
  CHECK_OK(MPI_Dims_create(size, 3, dims));
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, reorder, &comm));
  CHECK(comm != MPI_COMM_NULL);
  MPI_Comm_rank(comm, &rank);
  if (!reorder) CHECK_EQUAL(rank, old);
  CHECK_OK(MPI_Topo_test(comm, &kind));
  CHECK_EQUAL(kind, MPI_CART);
  CHECK_OK(MPI_Cartdim_get(comm, &n));
  CHECK_EQUAL(n, 3);
  CHECK_OK(MPI_Cart_get(comm, 3, got_dims, got_periods, mine));
  CHECK(!memcmp(dims, got_dims, sizeof dims) && !memcmp(periods, got_periods, sizeof periods));
  CHECK_EQUAL((mine[0] * dims[1] + mine[1]) * dims[2] + mine[2], rank);
  for (int r = 0; r < size; r++) {
    int back, far[3];
    CHECK_OK(MPI_Cart_coords(comm, r, 3, coords));
    CHECK_EQUAL((coords[0] * dims[1] + coords[1]) * dims[2] + coords[2], r);
    CHECK_OK(MPI_Cart_rank(comm, coords, &back));
    CHECK_EQUAL(back, r);
    far[0] = coords[0] - 3 * dims[0], far[1] = coords[1], far[2] = coords[2] + 1000 * dims[2];
    CHECK_OK(MPI_Cart_rank(comm, far, &back));
    CHECK_EQUAL(back, r);
  }
  // Every shift delivers what it should.
  for (int direction = 0; direction < 3; direction++) {
    for (int disp = -2; disp <= 2; disp++) {
      int source, dest, got = -7;
      CHECK_OK(MPI_Cart_shift(comm, direction, disp, &source, &dest));
      int there = mine[direction] + disp;
      if (!periods[direction] && (there < 0 || there >= dims[direction])) CHECK_EQUAL(dest, MPI_PROC_NULL);
      else {
        memcpy(coords, mine, sizeof mine);
        coords[direction] = there;
        CHECK_OK(MPI_Cart_rank(comm, coords, &n));
        CHECK_EQUAL(dest, n);
      }
      CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, dest, 3, &got, 1, MPI_INT, source, 3, comm, MPI_STATUS_IGNORE));
      CHECK_EQUAL(got, source == MPI_PROC_NULL ? -7 : source);
    }
  }
  // A duplicate has the topology, also a nonblocking one; a communicator made otherwise has none.
  CHECK_OK(MPI_Comm_dup(comm, &again));
  CHECK_OK(MPI_Cart_get(again, 3, got_dims, got_periods, coords));
  CHECK(!memcmp(dims, got_dims, sizeof dims) && !memcmp(mine, coords, sizeof mine));
  MPI_Comm_free(&again);
  MPI_Request request;
  CHECK_OK(MPI_Comm_idup(comm, &again, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Topo_test(again, &kind));
  CHECK_EQUAL(kind, MPI_CART);
  MPI_Comm_free(&again);
  MPI_Comm_split(comm, 0, rank, &again);
  CHECK_OK(MPI_Topo_test(again, &kind));
  CHECK_EQUAL(kind, MPI_UNDEFINED);
  MPI_Comm_free(&again);

  // Subgrids: every combination of dimensions that stay.
  for (int kept = 0; kept < 8; kept++) {
    int remain[3] = {kept & 1, kept & 2, kept & 4}, sub_size, sub_rank, expected = 1, place = 0, m = 0;
    for (int i = 0; i < 3; i++) if (remain[i]) expected *= dims[i], place = place * dims[i] + mine[i];
    CHECK_OK(MPI_Cart_sub(comm, remain, &again));
    MPI_Comm_size(again, &sub_size);
    MPI_Comm_rank(again, &sub_rank);
    CHECK_EQUAL(sub_size, expected);
    CHECK_EQUAL(sub_rank, place);
    CHECK_OK(MPI_Cartdim_get(again, &n));
    CHECK_OK(MPI_Cart_get(again, n, got_dims, got_periods, coords));
    for (int i = 0; i < 3; i++) {
      if (!remain[i]) continue;
      CHECK(got_dims[m] == dims[i] && got_periods[m] == periods[i] && coords[m] == mine[i]);
      m++;
    }
    CHECK_EQUAL(n, m);
    // Those who are together have the same dropped coordinates.
    int color = 0, first;
    for (int i = 0; i < 3; i++) if (!remain[i]) color = color * dims[i] + mine[i];
    first = color;
    MPI_Bcast(&first, 1, MPI_INT, 0, again);
    CHECK_EQUAL(color, first);
    MPI_Comm_free(&again);
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  int rank, size, kind, n;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Topo_test(MPI_COMM_WORLD, &kind));
  CHECK_EQUAL(kind, MPI_UNDEFINED);
  grid(rank, size, 0);
  grid(rank, size, 1);

  // A smaller grid leaves the others out.
  int dims[2] = {1, size - 1}, periods[2] = {0, 0}, newrank;
  MPI_Comm comm;
  for (int reorder = 0; size > 1 && reorder < 2; reorder++) {
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &comm));
    int in = comm != MPI_COMM_NULL, members;
    MPI_Allreduce(&in, &members, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(members, size - 1);
    if (!reorder) CHECK_EQUAL(in, rank < size - 1);
    if (in) {
      MPI_Comm_size(comm, &n);
      CHECK_EQUAL(n, product(dims, 2));
      MPI_Comm_free(&comm);
    }
    // MPI_Cart_map tells what a reordering would do: places for all but one rank, each once.
    CHECK_OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &newrank));
    CHECK(newrank == MPI_UNDEFINED || (newrank >= 0 && newrank < size - 1));
    int one = newrank == MPI_UNDEFINED ? 0 : newrank + 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, (size - 1) * size / 2);
  }

  // No dimension at all: one rank, everything about coordinates is empty.
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
  CHECK_EQUAL(comm != MPI_COMM_NULL, rank == 0);
  if (rank == 0) {
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Cartdim_get(comm, &n));
    CHECK_EQUAL(n, 0);
    CHECK_OK(MPI_Cart_get(comm, 0, NULL, NULL, NULL));
    CHECK_OK(MPI_Cart_rank(comm, NULL, &n));
    CHECK_EQUAL(n, 0);
    CHECK_OK(MPI_Cart_coords(comm, 0, 0, NULL));
    CHECK_CLASS(MPI_Cart_shift(comm, 0, 1, &n, &n), MPI_ERR_DIMS);
    MPI_Comm_free(&comm);
  }

  // What is refused, on the rank itself and before anybody waits.
  int bad[2] = {size, 2}, zero[1] = {0}, no[1] = {0}, huge[3] = {1 << 20, 1 << 20, 1 << 20}, three[3] = {0, 0, 0};
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 2, bad, periods, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 3, huge, three, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 1, zero, no, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, -1, zero, no, 0, &comm), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, no, 0, &comm), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_create(MPI_COMM_NULL, 1, bad, no, 0, &comm), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_get(MPI_COMM_WORLD, 1, &n, &n, &n), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_sub(MPI_COMM_WORLD, no, &comm), MPI_ERR_TOPOLOGY);
  CHECK_CLASS(MPI_Cart_map(MPI_COMM_WORLD, 2, bad, periods, &n), MPI_ERR_DIMS);
  int line[1] = {size}, outside[1] = {size};
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, line, no, 0, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Cart_rank(comm, outside, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_coords(comm, size, 1, &n), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Cart_coords(comm, MPI_PROC_NULL, 1, &n), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Cart_coords(comm, 0, 0, &n), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cart_shift(comm, 1, 1, &n, &n), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Cart_shift(comm, -1, 1, &n, &n), MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Graphdims_get(comm, &n, &n), MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&comm);
  return check_end();
}
