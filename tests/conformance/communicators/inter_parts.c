// Parts of intercommunicators: MPI_Comm_split and MPI_Comm_create with members on both sides, on one side, on none.
// weft-test: ranks=2,3,4,17
#include "check.h"

static int size, side, local_size, remote_size;

// Sends a word across and checks who is there: every rank sends its rank in MPI_COMM_WORLD to all on the other side.
static void check_sides(MPI_Comm inter, int expected_local, int expected_remote, int (*world)(int)) {
  int n, remote;
  MPI_Comm_size(inter, &n), MPI_Comm_remote_size(inter, &remote);
  CHECK_EQUAL(n, expected_local);
  CHECK_EQUAL(remote, expected_remote);
  MPI_Request *requests = malloc(sizeof(MPI_Request) * remote);
  for (int r = 0; r < remote; r++) MPI_Isend(&check_rank, 1, MPI_INT, r, 0, inter, &requests[r]);
  for (int r = 0; r < remote; r++) {
    int got = -1;
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, r, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, world(r));
  }
  MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

// Ranks below `low` are the left side, the others the right side.
static int low, color, reverse;
static int colors = 3;
static int split_world(int r) {
  // The r-th of the other side's ranks with this rank's color.
  int first = side ? 0 : low, count = remote_size, found = -1, seen = 0, members = 0;
  for (int i = 0; i < count; i++) members += i % colors == color;
  int wanted = reverse ? members - 1 - r : r;
  for (int i = 0; i < count; i++)
    if (i % colors == color && seen++ == wanted) found = first + i;
  return found;
}
static int create_world(int r) { return side ? 0 : low + r; }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  low = (size + 2) / 3;
  side = check_rank >= low;
  MPI_Comm local, inter, part;
  MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
  MPI_Comm_size(local, &local_size);
  remote_size = size - local_size;
  CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : low, 0, &inter));
  int rank;
  MPI_Comm_rank(inter, &rank);

  // A color that the other side lacks gives no communicator.
  for (reverse = 0; reverse < 2; reverse++) {
    color = rank % colors;
    CHECK_OK(MPI_Comm_split(inter, color, reverse ? -rank : rank, &part));
    int here = (local_size - color + colors - 1) / colors, there = remote_size > color ? (remote_size - color + colors - 1) / colors : 0;
    CHECK((part == MPI_COMM_NULL) == (there == 0));
    if (part != MPI_COMM_NULL) {
      check_sides(part, here, there, split_world);
      CHECK_OK(MPI_Comm_free(&part));
    }
  }
  // Only some on one side.
  CHECK_OK(MPI_Comm_split(inter, side == 0 && rank > 0 ? MPI_UNDEFINED : 4, 0, &part));
  CHECK((part == MPI_COMM_NULL) == (side == 0 && rank > 0));
  if (part != MPI_COMM_NULL) {
    check_sides(part, side ? local_size : 1, side ? 1 : remote_size, create_world);
    CHECK_OK(MPI_Comm_free(&part));
  }
  // Nobody on one side.
  CHECK_OK(MPI_Comm_split(inter, side == 0 ? MPI_UNDEFINED : 4, 0, &part));
  CHECK(part == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN), MPI_SUCCESS);
  CHECK_CLASS(MPI_Comm_split(inter, -3, 0, &part), MPI_ERR_ARG);

  // MPI_Comm_create: the left side's first rank and the whole right side.
  MPI_Group own, group, other;
  MPI_Comm_group(inter, &own);
  MPI_Comm_remote_group(inter, &other);
  if (side == 0)
    MPI_Group_incl(own, 1, (int[]){0}, &group);
  else
    group = own;
  CHECK_OK(MPI_Comm_create(inter, group, &part));
  CHECK((part == MPI_COMM_NULL) == (side == 0 && rank > 0));
  if (part != MPI_COMM_NULL) {
    check_sides(part, side ? local_size : 1, side ? 1 : remote_size, create_world);
    CHECK_OK(MPI_Comm_free(&part));
  }
  // Nobody on one side: nobody gets anything.
  CHECK_OK(MPI_Comm_create(inter, side == 0 ? MPI_GROUP_EMPTY : own, &part));
  CHECK(part == MPI_COMM_NULL);
  // The group is of the own side.
  CHECK_CLASS(MPI_Comm_create(inter, other, &part), MPI_ERR_GROUP);
  // Ranks that share memory stay together, as an intercommunicator.
  CHECK_OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  if (part != MPI_COMM_NULL) {
    int flag;
    CHECK_OK(MPI_Comm_test_inter(part, &flag));
    CHECK_EQUAL(flag, 1);
    CHECK_OK(MPI_Comm_free(&part));
  }
  if (side == 0) MPI_Group_free(&group);
  MPI_Group_free(&own), MPI_Group_free(&other);
  CHECK_OK(MPI_Comm_free(&inter));
  CHECK_OK(MPI_Comm_free(&local));
  return check_end();
}
