// The procedures that write a status are read back by those that read one, and change nothing else.
// weft-test: part=one-worker
#include "../check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  int value, flag, count;
  check_init(&argc, &argv);
  MPI_Status status, before;
  memset(&status, 0, sizeof(status));
  for (int i = 0; i < 3; i++) {
    int source = i == 2 ? MPI_PROC_NULL : 40 + i, tag = i == 2 ? MPI_ANY_TAG : INT32_MAX - i;
    CHECK_OK(MPI_Status_set_source(&status, source));
    CHECK_OK(MPI_Status_set_tag(&status, tag));
    CHECK_OK(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE + i));
    CHECK_OK(MPI_Status_set_cancelled(&status, i % 2 ? 17 : 0)); // Any value but zero is true.
    CHECK_OK(MPI_Status_set_elements(&status, MPI_DOUBLE, 7 + i));
    CHECK(status.MPI_SOURCE == source && status.MPI_TAG == tag && status.MPI_ERROR == MPI_ERR_TRUNCATE + i);
    CHECK_OK(MPI_Status_get_source(&status, &value));
    CHECK_EQUAL(value, source);
    CHECK_OK(MPI_Status_get_tag(&status, &value));
    CHECK_EQUAL(value, tag);
    CHECK_OK(MPI_Status_get_error(&status, &value));
    CHECK_EQUAL(value, MPI_ERR_TRUNCATE + i);
    CHECK_OK(MPI_Test_cancelled(&status, &flag));
    CHECK_EQUAL(flag, i % 2);
    CHECK_OK(MPI_Get_elements(&status, MPI_DOUBLE, &count));
    CHECK_EQUAL(count, 7 + i);
    CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK_EQUAL(count, 7 + i);
  }
  before = status;
  CHECK_OK(MPI_Status_set_tag(&status, 1));
  status.MPI_TAG = before.MPI_TAG;
  CHECK(memcmp(&before, &status, sizeof(status)) == 0);

  // Elements that do not fill a whole number of the datatype, and more than an int holds.
  MPI_Datatype pair;
  MPI_Count elements;
  CHECK_OK(MPI_Type_contiguous(2, MPI_DOUBLE, &pair));
  CHECK_OK(MPI_Type_commit(&pair));
  CHECK_OK(MPI_Status_set_elements(&status, pair, 5));
  CHECK_OK(MPI_Get_elements(&status, pair, &count));
  CHECK_EQUAL(count, 5);
  CHECK_OK(MPI_Get_count(&status, pair, &count));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  CHECK_OK(MPI_Status_set_elements_c(&status, MPI_INT, (MPI_Count)3 << 31));
  CHECK_OK(MPI_Get_elements_c(&status, MPI_INT, &elements));
  CHECK_EQUAL(elements, (MPI_Count)3 << 31);
  CHECK_OK(MPI_Get_elements(&status, MPI_INT, &count));
  CHECK_EQUAL(count, MPI_UNDEFINED);
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_INT, (MPI_Count)5 << 31));
  CHECK_OK(MPI_Get_elements_x(&status, MPI_INT, &elements));
  CHECK_EQUAL(elements, (MPI_Count)5 << 31);
  MPI_Type_free(&pair);

  CHECK_CLASS(MPI_Status_set_source(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_set_tag(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_set_error(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Status_set_elements(&status, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE);
  return check_end();
}
