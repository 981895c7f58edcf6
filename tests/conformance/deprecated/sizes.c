// Sizes and counts by the old calls for large types. weft-test: ranks=1,2
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype ints, gap, large;
  MPI_Count size, lb, extent, count, huge = (MPI_Count)3 << 31;
  int small;
  CHECK_OK(MPI_Type_contiguous(5, MPI_INT, &ints));
  CHECK_OK(MPI_Type_create_resized(ints, -4, 40, &gap));
  CHECK_OK(MPI_Type_commit(&gap));
  CHECK_OK(MPI_Type_size_x(gap, &size));
  CHECK_EQUAL(size, 5 * sizeof(int));
  CHECK_OK(MPI_Type_get_extent_x(gap, &lb, &extent));
  CHECK(lb == -4 && extent == 40);
  CHECK_OK(MPI_Type_get_true_extent_x(gap, &lb, &extent));
  CHECK(lb == 0 && extent == 5 * sizeof(int));
  CHECK_OK(MPI_Type_contiguous_c(huge, MPI_BYTE, &large));
  CHECK_OK(MPI_Type_size_x(large, &size));
  CHECK_EQUAL(size, huge);
  CHECK_OK(MPI_Type_size(large, &small));
  CHECK_EQUAL(small, MPI_UNDEFINED);
  CHECK_OK(MPI_Type_get_extent_x(large, &lb, &extent));
  CHECK(lb == 0 && extent == huge);

  // Seven ints of types of five.
  int in[7] = {0}, out[10];
  MPI_Status status;
  CHECK_OK(MPI_Type_commit(&ints));
  CHECK_OK(MPI_Sendrecv(in, 7, MPI_INT, 0, 0, out, 2, ints, 0, 0, MPI_COMM_SELF, &status));
  CHECK_OK(MPI_Get_elements_x(&status, ints, &count));
  CHECK_EQUAL(count, 7);
  CHECK_OK(MPI_Get_count(&status, ints, &small));
  CHECK_EQUAL(small, MPI_UNDEFINED);
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_BYTE, huge));
  CHECK_OK(MPI_Get_elements_x(&status, MPI_BYTE, &count));
  CHECK_EQUAL(count, huge);
  CHECK_OK(MPI_Get_elements(&status, MPI_BYTE, &small));
  CHECK_EQUAL(small, MPI_UNDEFINED);
  // The attribute that no machine of today has.
  int *host = NULL, flag = -1;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &host, &flag));
  CHECK(!flag || *host == MPI_PROC_NULL || *host >= 0);
  CHECK_OK(MPI_Type_free(&large));
  CHECK_OK(MPI_Type_free(&gap));
  CHECK_OK(MPI_Type_free(&ints));
  return check_end();
}
