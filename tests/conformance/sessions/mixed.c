// Objects of different sessions, or of a session and the world model, in one call are refused; the empty group belongs to
// everybody.
// weft-test: faults=yes
#include "check.h"

static MPI_Group set(MPI_Session session) {
  MPI_Group group;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  return group;
}

static MPI_Comm comm_of(MPI_Group group, const char *tag) {
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  return comm;
}

static void groups(MPI_Group one, MPI_Group other, int expected) {
  MPI_Group result = MPI_GROUP_NULL;
  int (*const combine[])(MPI_Group, MPI_Group, MPI_Group *) = {MPI_Group_union, MPI_Group_intersection,
                                                              MPI_Group_difference};
  for (int i = 0; i < 3; i++) {
    CHECK_CLASS(combine[i](one, other, &result), expected);
    if (expected == MPI_SUCCESS && result != MPI_GROUP_EMPTY) MPI_Group_free(&result);
  }
  int rank = 0, there, how;
  CHECK_CLASS(MPI_Group_compare(one, other, &how), expected);
  CHECK_CLASS(MPI_Group_translate_ranks(one, 1, &rank, other, &there), expected);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Session sessions[2];
  MPI_Group of[2], world;
  MPI_Comm comms[2], made;
  int how;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]));
    of[i] = set(sessions[i]);
    comms[i] = comm_of(of[i], i ? "weft.test.mixed.1" : "weft.test.mixed.0");
  }
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  groups(of[0], of[1], MPI_ERR_GROUP);
  groups(of[0], world, MPI_ERR_GROUP);
  groups(world, of[1], MPI_ERR_GROUP);
  groups(of[1], of[1], MPI_SUCCESS);
  groups(of[0], MPI_GROUP_EMPTY, MPI_SUCCESS);
  CHECK_CLASS(MPI_Comm_compare(comms[0], comms[1], &how), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_compare(MPI_COMM_WORLD, comms[1], &how), MPI_ERR_COMM);
  CHECK_OK(MPI_Comm_compare(comms[0], comms[0], &how));
  CHECK_CLASS(MPI_Comm_create(comms[0], of[1], &made), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_create(MPI_COMM_WORLD, of[1], &made), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_create_group(comms[1], of[0], 3, &made), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_create_group(comms[1], world, 3, &made), MPI_ERR_GROUP);
  CHECK_OK(MPI_Comm_create(comms[0], MPI_GROUP_EMPTY, &made));
  CHECK(made == MPI_COMM_NULL);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm self;
  CHECK_OK(MPI_Comm_split(comms[0], check_rank, 0, &self));
  if (size > 1)
    CHECK_CLASS(MPI_Intercomm_create(self, 0, MPI_COMM_WORLD, (check_rank + 1) % size, 5, &made), MPI_ERR_COMM);
  MPI_Group mine, rest;
  CHECK_OK(MPI_Group_incl(of[0], 1, &check_rank, &mine));
  CHECK_OK(MPI_Group_excl(of[1], 1, &check_rank, &rest));
  if (size > 1)
    CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, 0, rest, 0, "weft.test.mixed", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                 &made),
                MPI_ERR_GROUP);
  MPI_Group_free(&mine);
  if (rest != MPI_GROUP_EMPTY) MPI_Group_free(&rest);
  MPI_Comm_free(&self);
  MPI_Group_free(&world);
  for (int i = 0; i < 2; i++) {
    MPI_Comm_free(&comms[i]);
    MPI_Group_free(&of[i]);
    MPI_Session_finalize(&sessions[i]);
  }
  return check_end();
}
