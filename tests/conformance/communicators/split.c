// MPI_Comm_split by colour and key, with ties, MPI_UNDEFINED and again from the parts; MPI_Comm_split_type.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, rank, part_size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int colours = 1; colours <= 4; colours++) {
    MPI_Comm part;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % colours, -check_rank, &part));
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &part_size);
    int expected_size = (size - check_rank % colours + colours - 1) / colours;
    CHECK_EQUAL(part_size, expected_size);
    CHECK_EQUAL(rank, expected_size - 1 - check_rank / colours);
    int sum = 0, expected = 0;
    CHECK_OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, part));
    for (int i = check_rank % colours; i < size; i += colours) expected += i;
    CHECK_EQUAL(sum, expected);
    // Split the part again, equal keys: the order stays.
    MPI_Comm half;
    CHECK_OK(MPI_Comm_split(part, rank / 2, 0, &half));
    int half_rank, half_size;
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    CHECK_EQUAL(half_rank, rank % 2);
    CHECK_EQUAL(half_size, rank / 2 * 2 + 1 < part_size ? 2 : 1);
    CHECK_OK(MPI_Comm_free(&half));
    CHECK_OK(MPI_Comm_free(&part));
  }
  MPI_Comm some;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 0, 0, &some));
  CHECK((some == MPI_COMM_NULL) == (check_rank == 0));
  if (some != MPI_COMM_NULL) {
    MPI_Comm_rank(some, &rank);
    CHECK_EQUAL(rank, check_rank - 1);
    CHECK_OK(MPI_Comm_free(&some));
  }
  CHECK_CLASS(MPI_Comm_split(MPI_COMM_SELF, -5, 0, &some), MPI_ERR_ARG);
  return check_end();
}
