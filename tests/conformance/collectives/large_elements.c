// Reductions of elements that are longer than whatever data is passed on in: a datatype of a megabyte with an operation of
// the program's own, with and without gaps between its instances.
// weft-test: ranks=1,2,3,5
#include "../check.h"

enum { LENGTH = (1 << 17) + 1, COUNT = 2, GAP = 3 };

static size_t distance; // Between instances, in doubles.
static int calls;

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  calls++;
  for (int i = 0; i < *count; i++)
    for (int j = 0; j < LENGTH; j++)
      ((double *)inout)[(size_t)i * distance + j] += ((double *)in)[(size_t)i * distance + j];
}

static void fill(double *data, int count, int rank) {
  for (int i = 0; i < count; i++)
    for (size_t j = 0; j < distance; j++)
      data[(size_t)i * distance + j] = j < LENGTH ? (double)(rank + 1) * (i + 1) + (double)(j % 7) : -1;
}

// Checks the sum over `ranks` ranks from 0 on of elements `first` and the following.
static void check_sum(const double *data, int first, int count, int ranks) {
  int wrong = 0;
  for (int i = 0; i < count; i++)
    for (size_t j = 0; j < distance; j++) {
      double sum = (double)ranks * (ranks + 1) / 2 * (first + i + 1) + (double)ranks * (double)(j % 7);
      wrong += data[(size_t)i * distance + j] != (j < LENGTH ? sum : -1);
    }
  CHECK_EQUAL(wrong, 0);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Op op;
  CHECK_OK(MPI_Op_create(add, 1, &op));
  for (int gap = 0; gap <= GAP; gap += GAP) {
    distance = LENGTH + (size_t)gap;
    MPI_Datatype dense, type;
    CHECK_OK(MPI_Type_contiguous(LENGTH, MPI_DOUBLE, &dense));
    CHECK_OK(MPI_Type_create_resized(dense, 0, (MPI_Aint)(distance * sizeof(double)), &type));
    CHECK_OK(MPI_Type_commit(&type));
    int total = COUNT > size ? COUNT : size;
    double *mine = malloc((size_t)total * distance * sizeof(double)), *result = malloc((size_t)total * distance * sizeof(double));
    fill(mine, total, rank);
    fill(result, total, -1 - rank); // The gaps stay.

    CHECK_OK(MPI_Allreduce(mine, result, COUNT, type, op, MPI_COMM_WORLD));
    check_sum(result, 0, COUNT, size);
    memcpy(result, mine, (size_t)total * distance * sizeof(double));
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, result, COUNT, type, op, MPI_COMM_WORLD));
    check_sum(result, 0, COUNT, size);
    for (int root = 0; root < size; root++) {
      CHECK_OK(MPI_Reduce(mine, result, COUNT, type, op, root, MPI_COMM_WORLD));
      if (rank == root)
        check_sum(result, 0, COUNT, size);
    }
    CHECK_OK(MPI_Reduce_scatter_block(mine, result, 1, type, op, MPI_COMM_WORLD));
    check_sum(result, rank, 1, size);
    CHECK_OK(MPI_Scan(mine, result, COUNT, type, op, MPI_COMM_WORLD));
    check_sum(result, 0, COUNT, rank + 1);
    CHECK_OK(MPI_Exscan(mine, result, COUNT, type, op, MPI_COMM_WORLD));
    if (rank > 0)
      check_sum(result, 0, COUNT, rank);
    MPI_Request request;
    CHECK_OK(MPI_Iallreduce(mine, result, COUNT, type, op, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_sum(result, 0, COUNT, size);
    // Beside such elements, short ones must be as they were.
    double one = 1, sum = 0;
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size);
    free(mine);
    free(result);
    MPI_Type_free(&type);
    MPI_Type_free(&dense);
  }
  CHECK(size == 1 || calls > 0);
  CHECK_OK(MPI_Op_free(&op));
  return check_end();
}
