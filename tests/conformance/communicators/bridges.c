// Several groups joined pairwise by intercommunicators, in a line and in a ring; a peer communicator of two, one that is
// itself an intercommunicator, and leaders that are not the first.
// weft-test: ranks=3,4,17 buffers=yes
#include "check.h"

static int size, group, local_rank;
static MPI_Comm local;

// The first rank in MPI_COMM_WORLD of a group, and how many it has: ranks r with r % 3 == g.
static int first_of(int g) { return g; }
static int members_of(int g) { return (size - g + 2) / 3; }

static MPI_Request say(MPI_Comm inter) {
  int remote;
  MPI_Request request;
  MPI_Comm_remote_size(inter, &remote);
  CHECK_OK(MPI_Isend(&check_rank, 1, MPI_INT, local_rank % remote, 0, inter, &request));
  return request;
}

static void hear(MPI_Comm inter, int other, MPI_Request request) {
  int remote, got = -1;
  MPI_Comm_remote_size(inter, &remote);
  CHECK_EQUAL(remote, members_of(other));
  for (int r = local_rank; r < remote; r += members_of(group)) {
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, r, 0, inter, MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, other + 3 * r);
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void talk(MPI_Comm inter, int other) { hear(inter, other, say(inter)); }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  group = check_rank % 3;
  MPI_Comm_split(MPI_COMM_WORLD, group, 0, &local);
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm first, second;

  // A line: 0 - 1 - 2.
  if (group == 0) {
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first_of(1), 1, &first));
    talk(first, 1);
  } else if (group == 1) {
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first_of(0), 1, &first));
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first_of(2), 12, &second));
    talk(second, 2);
    talk(first, 0);
    CHECK_OK(MPI_Comm_free(&second));
  } else {
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first_of(1), 12, &first));
    talk(first, 1);
  }
  CHECK_OK(MPI_Comm_free(&first));

  // A ring, with the last of each group as its leader.
  int leader = members_of(group) - 1, next = (group + 1) % 3, previous = (group + 2) % 3;
#define LEADER(g) (first_of(g) + 3 * (members_of(g) - 1))
  for (int round = 0; round < 10; round++) {
    if (group == 0) {
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(next), 1, &first));
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(previous), 2, &second));
    } else if (group == 1) {
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(previous), 1, &second));
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(next), 12, &first));
    } else {
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(next), 2, &first));
      CHECK_OK(MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, LEADER(previous), 12, &second));
    }
    MPI_Request said = say(first);
    talk(second, previous);
    hear(first, next, said);
    if (round < 9) CHECK_OK(MPI_Comm_free(&first));
    if (round < 9) CHECK_OK(MPI_Comm_free(&second));
  }

  // Groups 0 and 1 are bridged again, through the bridge they have: ranks of the peer are those of its other side.
  MPI_Comm again, both;
  int result;
  if (group < 2) {
    MPI_Comm bridge = group == 0 ? first : second;
    CHECK_OK(MPI_Intercomm_create(local, 0, bridge, 0, 3, &again));
    CHECK_OK(MPI_Comm_compare(bridge, again, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    talk(again, 1 - group);
    // Merged, the two are bridged with the third.
    CHECK_OK(MPI_Intercomm_merge(again, group, &both));
    CHECK_OK(MPI_Comm_free(&again));
    CHECK_OK(MPI_Intercomm_create(both, 0, MPI_COMM_WORLD, first_of(2), 4, &again));
    int n;
    MPI_Comm_remote_size(again, &n);
    CHECK_EQUAL(n, members_of(2));
    MPI_Comm_size(again, &n);
    CHECK_EQUAL(n, members_of(0) + members_of(1));
    CHECK_OK(MPI_Comm_free(&both));
  } else {
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, first_of(0), 4, &again));
    int n;
    MPI_Comm_remote_size(again, &n);
    CHECK_EQUAL(n, members_of(0) + members_of(1));
  }
  // The third comes first now, though its ranks are higher.
  CHECK_OK(MPI_Intercomm_merge(again, group != 2, &both));
  int rank;
  MPI_Comm_rank(both, &rank);
  int before = group == 2 ? 0 : members_of(2) + (group == 1 ? members_of(0) : 0);
  CHECK_EQUAL(rank, before + local_rank);
  CHECK_OK(MPI_Comm_free(&both));
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_OK(MPI_Comm_free(&first));
  CHECK_OK(MPI_Comm_free(&second));
  CHECK_OK(MPI_Comm_free(&local));
  return check_end();
}
