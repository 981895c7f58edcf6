// Heat in a square plate: 2-D Jacobi iteration, the plate cut into a grid of blocks with one line of halo each.
//
// The left edge is kept at 1, the others at 0. Rank 0 also computes the plate alone, by the same sweep, and compares
// every point: both must agree to the last bit, since each point is computed from the same values in the same order.
//
// usage: heat [POINTS-PER-SIDE [ITERATIONS]] [--serial]      (--serial computes on rank 0 only)
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A block of rows x columns points with a halo around it, stored row by row.
typedef struct {
  int rows, columns, stride;
  double *now, *next;
} block;

static double *at(const block *b, double *field, int row, int column) {
  return field + (size_t)row * b->stride + column;
}

// Creates a block; left tells whether its left halo is the plate's hot edge.
static block block_create(int rows, int columns, int left) {
  block b = {rows, columns, columns + 2, NULL, NULL};
  size_t points = (size_t)(rows + 2) * b.stride;
  b.now = calloc(points, sizeof *b.now);
  b.next = calloc(points, sizeof *b.next);
  if (!b.now || !b.next) {
    fprintf(stderr, "heat: no memory for %d x %d points\n", rows, columns);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int row = 1; left && row <= rows; row++) *at(&b, b.now, row, 0) = *at(&b, b.next, row, 0) = 1.0;
  return b;
}

static void block_free(block *b) {
  free(b->now);
  free(b->next);
}

// Computes one Jacobi step and makes it the current state; returns the sum of squared changes.
static double sweep(block *b) {
  double change = 0;
  for (int row = 1; row <= b->rows; row++) {
    const double *above = at(b, b->now, row - 1, 0), *here = at(b, b->now, row, 0), *below = at(b, b->now, row + 1, 0);
    double *out = at(b, b->next, row, 0);
    for (int column = 1; column <= b->columns; column++) {
      out[column] = 0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
      double difference = out[column] - here[column];
      change += difference * difference;
    }
  }
  double *old = b->now;
  b->now = b->next, b->next = old;
  return change;
}

// Tells where part `index` of `parts` starts when `points` are dealt out evenly.
static int part_start(int points, int parts, int index) {
  return (int)((long)points * index / parts);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int points = 512, iterations = 200, serial_only = 0, numbers = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--serial") == 0) serial_only = 1;
    else if (numbers++ == 0) points = atoi(argv[i]);
    else iterations = atoi(argv[i]);
  }

  // The grid of blocks nearest to a square.
  int grid_rows = 1;
  for (int i = 1; (long)i * i <= size; i++)
    if (size % i == 0) grid_rows = i;
  int grid_columns = size / grid_rows;
  if (grid_columns > points) {
    if (rank == 0) fprintf(stderr, "heat: %d points per side are too few for %d ranks\n", points, size);
    MPI_Finalize();
    return 2;
  }

  double parallel_time = 0, residual = 0;
  double *plate = NULL;
  if (!serial_only) {
    int my_row = rank / grid_columns, my_column = rank % grid_columns;
    int first_row = part_start(points, grid_rows, my_row), end_row = part_start(points, grid_rows, my_row + 1);
    int first_column = part_start(points, grid_columns, my_column);
    int end_column = part_start(points, grid_columns, my_column + 1);
    block b = block_create(end_row - first_row, end_column - first_column, my_column == 0);
    int up = my_row > 0 ? rank - grid_columns : MPI_PROC_NULL;
    int down = my_row < grid_rows - 1 ? rank + grid_columns : MPI_PROC_NULL;
    int left = my_column > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = my_column < grid_columns - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Datatype column_type;
    MPI_Type_vector(b.rows, 1, b.stride, MPI_DOUBLE, &column_type);
    MPI_Type_commit(&column_type);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), change = 0;
    for (int iteration = 0; iteration < iterations; iteration++) {
      MPI_Request requests[8];
      double *f = b.now;
      MPI_Irecv(at(&b, f, 0, 1), b.columns, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(at(&b, f, b.rows + 1, 1), b.columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
      MPI_Irecv(at(&b, f, 1, 0), 1, column_type, left, 2, MPI_COMM_WORLD, &requests[2]);
      MPI_Irecv(at(&b, f, 1, b.columns + 1), 1, column_type, right, 3, MPI_COMM_WORLD, &requests[3]);
      MPI_Isend(at(&b, f, b.rows, 1), b.columns, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[4]);
      MPI_Isend(at(&b, f, 1, 1), b.columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[5]);
      MPI_Isend(at(&b, f, 1, b.columns), 1, column_type, right, 2, MPI_COMM_WORLD, &requests[6]);
      MPI_Isend(at(&b, f, 1, 1), 1, column_type, left, 3, MPI_COMM_WORLD, &requests[7]);
      MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
      change = sweep(&b);
      // The halo of the next state comes from the neighbours; only the hot edge stays from the start.
      if (iteration % 10 == 9 || iteration == iterations - 1)
        MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    parallel_time = MPI_Wtime() - start;
    MPI_Type_free(&column_type);

    // Rank 0 collects the plate block by block.
    MPI_Datatype inner;
    MPI_Type_vector(b.rows, b.columns, b.stride, MPI_DOUBLE, &inner);
    MPI_Type_commit(&inner);
    MPI_Request sent;
    MPI_Isend(at(&b, b.now, 1, 1), 1, inner, 0, 4, MPI_COMM_WORLD, &sent);
    if (rank == 0) {
      plate = malloc((size_t)points * points * sizeof *plate);
      if (!plate) MPI_Abort(MPI_COMM_WORLD, 2);
      for (int source = 0; source < size; source++) {
        int row = source / grid_columns, column = source % grid_columns;
        int r0 = part_start(points, grid_rows, row), r1 = part_start(points, grid_rows, row + 1);
        int c0 = part_start(points, grid_columns, column), c1 = part_start(points, grid_columns, column + 1);
        MPI_Datatype target;
        MPI_Type_vector(r1 - r0, c1 - c0, points, MPI_DOUBLE, &target);
        MPI_Type_commit(&target);
        MPI_Recv(plate + (size_t)r0 * points + c0, 1, target, source, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&target);
      }
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Type_free(&inner);
    block_free(&b);
  }

  int wrong = 0;
  if (rank == 0) {
    block whole = block_create(points, points, 1);
    double start = MPI_Wtime(), change = 0;
    for (int iteration = 0; iteration < iterations; iteration++) change = sweep(&whole);
    double serial_time = MPI_Wtime() - start;
    double middle = *at(&whole, whole.now, points / 2 + 1, points / 64 + 1);
    printf("heat: %d x %d points, %d iterations\n", points, points, iterations);
    printf("  serial      %9.4f s   T(1/2, 1/64) = %.12f   change %.6e\n", serial_time, middle, change);
    if (!serial_only) {
      long different = 0;
      for (int row = 0; row < points; row++)
        for (int column = 0; column < points; column++)
          different += plate[(size_t)row * points + column] != *at(&whole, whole.now, row + 1, column + 1);
      double relative = change > 0 ? (residual - change) / change : residual;
      wrong = different != 0 || !(relative < 1e-9 && relative > -1e-9);
      printf("  %4d ranks  %9.4f s   T(1/2, 1/64) = %.12f   change %.6e   (%d x %d blocks)\n", size, parallel_time,
             plate[(size_t)(points / 2) * points + points / 64], residual, grid_rows, grid_columns);
      printf("  %s\n", wrong ? "WRONG: the answers differ" : "right: every point agrees with the serial run");
      if (different) printf("  %ld points differ\n", different);
    }
    block_free(&whole);
    free(plate);
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
