// Cannon's matrix multiplication on the largest square grid of ranks, compared with a serial product on rank 0.
//
// Ranks outside the square only take part in the final verdict. L. E. Cannon, "A cellular computer to implement the
// Kalman filter algorithm", 1969.
//
// usage: cannon [POINTS-PER-BLOCK-SIDE]
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using matrix = std::vector<double>;

// Gives the element of the two factors at a place, small integers so that sums are exact.
static double left_element(int row, int column) { return (row * 7 + column * 3) % 11 - 5; }
static double right_element(int row, int column) { return (row * 5 + column * 13) % 9 - 4; }

// Adds a times b to c, all n x n.
static void multiply_add(const matrix &a, const matrix &b, matrix &c, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      const double factor = a[static_cast<size_t>(i) * n + k];
      for (int j = 0; j < n; j++) c[static_cast<size_t>(i) * n + j] += factor * b[static_cast<size_t>(k) * n + j];
    }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int world_rank, world_size;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const int side = static_cast<int>(std::sqrt(static_cast<double>(world_size)) + 1e-9);
  const int n = argc > 1 ? std::atoi(argv[1]) : std::max(2, 192 / side);
  MPI_Comm grid;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < side * side ? 0 : MPI_UNDEFINED, world_rank, &grid);
  int wrong = 0;
  if (grid != MPI_COMM_NULL) {
    int rank;
    MPI_Comm_rank(grid, &rank);
    const int row = rank / side, column = rank % side;
    matrix a(static_cast<size_t>(n) * n), b(a.size()), c(a.size(), 0.0);
    // The initial alignment needs no message: each rank makes the blocks it would hold after it.
    const int aligned = (row + column) % side;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        a[static_cast<size_t>(i) * n + j] = left_element(row * n + i, aligned * n + j);
        b[static_cast<size_t>(i) * n + j] = right_element(aligned * n + i, column * n + j);
      }
    const int left = row * side + (column + side - 1) % side, right = row * side + (column + 1) % side;
    const int up = (row + side - 1) % side * side + column, down = (row + 1) % side * side + column;
    const double start = MPI_Wtime();
    for (int step = 0; step < side; step++) {
      multiply_add(a, b, c, n);
      MPI_Sendrecv_replace(a.data(), n * n, MPI_DOUBLE, left, 0, right, 0, grid, MPI_STATUS_IGNORE);
      MPI_Sendrecv_replace(b.data(), n * n, MPI_DOUBLE, up, 1, down, 1, grid, MPI_STATUS_IGNORE);
    }
    const double seconds = MPI_Wtime() - start;
    matrix all(rank == 0 ? c.size() * side * side : 0);
    MPI_Gather(c.data(), n * n, MPI_DOUBLE, all.data(), n * n, MPI_DOUBLE, 0, grid);
    if (rank == 0) {
      const int m = n * side;
      matrix whole_a(static_cast<size_t>(m) * m), whole_b(whole_a.size()), expected(whole_a.size(), 0.0);
      for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
          whole_a[static_cast<size_t>(i) * m + j] = left_element(i, j);
          whole_b[static_cast<size_t>(i) * m + j] = right_element(i, j);
        }
      const double serial_start = MPI_Wtime();
      multiply_add(whole_a, whole_b, expected, m);
      const double serial_seconds = MPI_Wtime() - serial_start;
      long different = 0;
      for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
          const size_t owner = static_cast<size_t>(i / n) * side + j / n;
          const size_t place = owner * n * n + static_cast<size_t>(i % n) * n + j % n;
          different += all[place] != expected[static_cast<size_t>(i) * m + j];
        }
      wrong = different != 0;
      std::printf("cannon: %d x %d on %d x %d ranks, %.4f s, serial %.4f s: %s\n", m, m, side, side, seconds,
                  serial_seconds, wrong ? "WRONG" : "right");
    }
    MPI_Comm_free(&grid);
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
