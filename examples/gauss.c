// Gaussian elimination with partial pivoting: rows are dealt out cyclically, the pivot is chosen with MPI_MAXLOC and
// its row broadcast. Rank 0 solves the same system alone and compares.
//
// usage: gauss [UNKNOWNS]
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) MPI_Abort(MPI_COMM_WORLD, 2);
  return p;
}

// Fills row i of the system: a reproducible well-conditioned matrix, and in place n the right-hand side for which
// the solution is x[j] = j % 7 - 3.
static void fill(double *row, int i, int n) {
  unsigned state = 2654435761u * (unsigned)(i + 1);
  row[n] = 0;
  for (int j = 0; j < n; j++) {
    state = state * 1664525u + 1013904223u;
    row[j] = (double)(state >> 8) / (1 << 24) - 0.5 + (i == j ? 2.0 : 0.0);
    row[n] += row[j] * (j % 7 - 3);
  }
}

static void eliminate(double *row, const double *pivot, int column, int n) {
  double factor = row[column] / pivot[column];
  row[column] = 0;
  for (int j = column + 1; j <= n; j++) row[j] -= factor * pivot[j];
}

static void solve_serial(double *a, double *x, int n) {
  int width = n + 1;
  double *spare = allocate(sizeof(double) * width);
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[(size_t)i * width + k]) > fabs(a[(size_t)best * width + k])) best = i;
    if (best != k) {
      memcpy(spare, a + (size_t)k * width, sizeof(double) * width);
      memcpy(a + (size_t)k * width, a + (size_t)best * width, sizeof(double) * width);
      memcpy(a + (size_t)best * width, spare, sizeof(double) * width);
    }
    for (int i = k + 1; i < n; i++) eliminate(a + (size_t)i * width, a + (size_t)k * width, k, n);
  }
  for (int k = n - 1; k >= 0; k--) {
    x[k] = a[(size_t)k * width + n];
    for (int j = k + 1; j < n; j++) x[k] -= a[(size_t)k * width + j] * x[j];
    x[k] /= a[(size_t)k * width + k];
  }
  free(spare);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int n = argc > 1 ? atoi(argv[1]) : 256, width = n + 1;
  int rows = n / size + (rank < n % size);
  double *a = allocate(sizeof(double) * rows * width);
  char *used = allocate(rows);
  int *owner = allocate(sizeof(int) * n), *place = allocate(sizeof(int) * n);
  double *pivot_row = allocate(sizeof(double) * width), *x = allocate(sizeof(double) * n);
  for (int i = 0; i < rows; i++) fill(a + (size_t)i * width, i * size + rank, n);

  double start = MPI_Wtime();
  for (int k = 0; k < n; k++) {
    struct { double value; int index; } mine = {-1, rank}, best;
    int row = -1;
    for (int i = 0; i < rows; i++)
      if (!used[i] && fabs(a[(size_t)i * width + k]) > mine.value) mine.value = fabs(a[(size_t)i * width + k]), row = i;
    MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    owner[k] = best.index;
    place[k] = row;
    if (best.index == rank) {
      used[row] = 1;
      memcpy(pivot_row, a + (size_t)row * width, sizeof(double) * width);
    }
    MPI_Bcast(pivot_row + k, width - k, MPI_DOUBLE, best.index, MPI_COMM_WORLD);
    for (int i = 0; i < rows; i++)
      if (!used[i]) eliminate(a + (size_t)i * width, pivot_row, k, n);
  }
  for (int k = n - 1; k >= 0; k--) {
    if (owner[k] == rank) {
      const double *row = a + (size_t)place[k] * width;
      x[k] = row[n];
      for (int j = k + 1; j < n; j++) x[k] -= row[j] * x[j];
      x[k] /= row[k];
    }
    MPI_Bcast(&x[k], 1, MPI_DOUBLE, owner[k], MPI_COMM_WORLD);
  }
  double seconds = MPI_Wtime() - start;

  int wrong = 0;
  for (int j = 0; j < n; j++) wrong |= !(fabs(x[j] - (j % 7 - 3)) < 1e-8);
  if (rank == 0) {
    double *whole = allocate(sizeof(double) * n * width), *y = allocate(sizeof(double) * n), largest = 0;
    for (int i = 0; i < n; i++) fill(whole + (size_t)i * width, i, n);
    double serial_start = MPI_Wtime();
    solve_serial(whole, y, n);
    double serial_seconds = MPI_Wtime() - serial_start;
    for (int j = 0; j < n; j++) largest = fmax(largest, fabs(x[j] - y[j]));
    wrong |= !(largest < 1e-8);
    printf("gauss: %d unknowns, %d ranks %.4f s, serial %.4f s, largest difference %.1e: %s\n", n, size, seconds,
           serial_seconds, largest, wrong ? "WRONG" : "right");
    free(whole), free(y);
  }
  free(a), free(used), free(owner), free(place), free(pivot_row), free(x);
  int any;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
