// MPI_Comm_create with a part of the ranks, in another order, with disjoint parts, and with nobody.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, rank, part_size, result;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Group world, even, reversed, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  CHECK_OK(MPI_Group_range_incl(world, 1, (int[1][3]){{0, size - 1, 2}}, &even));
  CHECK_OK(MPI_Group_range_incl(world, 1, (int[1][3]){{size - 1, 0, -1}}, &reversed));

  MPI_Comm comm;
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, even, &comm));
  CHECK((comm != MPI_COMM_NULL) == (check_rank % 2 == 0));
  if (comm != MPI_COMM_NULL) {
    MPI_Comm_rank(comm, &rank);
    CHECK_EQUAL(rank, check_rank / 2);
    CHECK_OK(MPI_Comm_group(comm, &group));
    CHECK_OK(MPI_Group_compare(group, even, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_free(&group);
    CHECK_OK(MPI_Comm_free(&comm));
  }
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm));
  MPI_Comm_rank(comm, &rank);
  CHECK_EQUAL(rank, size - 1 - check_rank);
  CHECK_OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &result));
  CHECK_EQUAL(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  int value = rank == 0 ? 99 : 0;
  CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
  CHECK_EQUAL(value, 99);
  CHECK_OK(MPI_Comm_free(&comm));

  // Several disjoint groups with different members in one call.
  MPI_Group parity;
  CHECK_OK(MPI_Group_range_incl(world, size > 1 ? 1 : 0, (int[1][3]){{check_rank % 2, size - 1, 2}}, &parity));
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, size > 1 ? parity : world, &comm));
  MPI_Comm_size(comm, &part_size);
  CHECK_EQUAL(part_size, size > 1 ? (size - check_rank % 2 + 1) / 2 : 1);
  CHECK_OK(MPI_Comm_free(&comm));

  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm));
  CHECK(comm == MPI_COMM_NULL);
  if (parity != MPI_GROUP_EMPTY) MPI_Group_free(&parity);
  MPI_Group_free(&even), MPI_Group_free(&reversed), MPI_Group_free(&world);
  return check_end();
}
