// weft-test: ranks=1 part=one-worker
// Balanced dimensions, with some fixed by the caller.
#include "check.h"

static void expect(int nodes, int n, const int *given, const int *wanted) {
  int dims[8];
  memcpy(dims, given, n * sizeof(int));
  CHECK_OK(MPI_Dims_create(nodes, n, dims));
  for (int i = 0; i < n; i++) CHECK_EQUAL(dims[i], wanted[i]);
}
#define EXPECT(nodes, n, given, ...) expect(nodes, n, (int[])given, (int[])__VA_ARGS__)
#define LIST(...) {__VA_ARGS__}

static void refuse(int nodes, int n, const int *given, int class) {
  int dims[8];
  memcpy(dims, given, n > 0 ? n * sizeof(int) : 0);
  CHECK_CLASS(MPI_Dims_create(nodes, n, dims), class);
  CHECK(n <= 0 || !memcmp(dims, given, n * sizeof(int)));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  // The standard's examples.
  EXPECT(6, 2, LIST(0, 0), LIST(3, 2));
  EXPECT(7, 2, LIST(0, 0), LIST(7, 1));
  EXPECT(6, 3, LIST(0, 3, 0), LIST(2, 3, 1));
  refuse(7, 3, (int[]){0, 3, 0}, MPI_ERR_DIMS);
  EXPECT(1, 3, LIST(0, 0, 0), LIST(1, 1, 1));
  EXPECT(16, 4, LIST(0, 0, 0, 0), LIST(2, 2, 2, 2));
  EXPECT(24, 3, LIST(0, 0, 0), LIST(4, 3, 2));
  EXPECT(1000, 3, LIST(0, 0, 0), LIST(10, 10, 10));
  EXPECT(1024, 3, LIST(0, 0, 0), LIST(16, 8, 8));
  EXPECT(2310, 3, LIST(0, 0, 0), LIST(15, 14, 11));
  EXPECT(7488, 3, LIST(0, 0, 0), LIST(26, 18, 16));
  EXPECT(14976, 4, LIST(0, 2, 0, 0), LIST(26, 2, 18, 16));
  EXPECT(2147483647, 2, LIST(0, 0), LIST(2147483647, 1));
  EXPECT(2147117569, 2, LIST(0, 0), LIST(46337, 46337));
  EXPECT(12, 3, LIST(2, 3, 2), LIST(2, 3, 2));
  EXPECT(60, 4, LIST(0, 5, 0, 0), LIST(3, 5, 2, 2));
  CHECK_OK(MPI_Dims_create(1, 0, NULL));
  refuse(2, 0, (int[]){0}, MPI_ERR_DIMS);
  refuse(12, 2, (int[]){2, 3}, MPI_ERR_DIMS);
  refuse(12, 2, (int[]){-2, 0}, MPI_ERR_DIMS);
  refuse(0, 2, (int[]){0, 0}, MPI_ERR_ARG);
  refuse(12, -1, (int[]){0}, MPI_ERR_DIMS);
  refuse(12, 3, (int[]){1 << 30, 1 << 30, 1 << 30}, MPI_ERR_DIMS);
  CHECK_CLASS(MPI_Dims_create(4, 1, NULL), MPI_ERR_ARG);
  return check_end();
}
