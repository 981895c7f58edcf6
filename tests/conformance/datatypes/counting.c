// Counts and elements of a status. weft-test: ranks=1 part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Status status;
  MPI_Datatype two, mixed;
  int n;
  MPI_Count x;
  memset(&status, 0, sizeof status);
  CHECK_OK(MPI_Type_contiguous(2, MPI_FLOAT, &two));
  CHECK_OK(MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &mixed));

  CHECK_OK(MPI_Status_set_elements(&status, MPI_FLOAT, 3));
  CHECK_OK(MPI_Get_count(&status, MPI_FLOAT, &n));
  CHECK_EQUAL(n, 3);
  CHECK_OK(MPI_Get_count(&status, two, &n));
  CHECK_EQUAL(n, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_elements(&status, two, &n));
  CHECK_EQUAL(n, 3);
  CHECK_OK(MPI_Get_elements_x(&status, two, &x));
  CHECK_EQUAL(x, 3);

  // Elements of different sizes: two instances and the first two members of a third.
  CHECK_OK(MPI_Status_set_elements_x(&status, mixed, 8));
  CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &n));
  CHECK_EQUAL(n, 2 * 16 + 8);
  CHECK_OK(MPI_Get_elements(&status, mixed, &n));
  CHECK_EQUAL(n, 8);
  CHECK_OK(MPI_Get_count(&status, mixed, &n));
  CHECK_EQUAL(n, MPI_UNDEFINED);
  // Five bytes end within an element.
  CHECK_OK(MPI_Status_set_elements(&status, MPI_BYTE, 5));
  CHECK_OK(MPI_Get_elements(&status, mixed, &n));
  CHECK_EQUAL(n, MPI_UNDEFINED);

  // More than an int holds.
  CHECK_OK(MPI_Status_set_elements_c(&status, MPI_DOUBLE, 5000000000LL));
  CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE, &n));
  CHECK_EQUAL(n, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_count_c(&status, MPI_DOUBLE, &x));
  CHECK(x == 5000000000LL);
  CHECK_OK(MPI_Get_elements_c(&status, MPI_DOUBLE, &x));
  CHECK(x == 5000000000LL);
  CHECK_CLASS(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Get_count(&status, MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &n), MPI_ERR_ARG);
  MPI_Type_free(&two);
  MPI_Type_free(&mixed);
  return check_end();
}
