// Process sets of a session, without MPI_Init: number, names, lengths, properties, groups.
#include "check.h"

int main(int argc, char **argv) {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK(session != MPI_SESSION_NULL);
  int sets = -1, world_at = -1, self_at = -1, world_size = -1, rank = -1;
  CHECK_OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  CHECK(sets >= 2);
  for (int n = 0; n < sets; n++) {
    // Length 0 asks for the length only and leaves the buffer alone.
    int length = 0;
    char untouched[4] = "abc";
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, untouched));
    CHECK(strcmp(untouched, "abc") == 0);
    CHECK(length > 1 && length <= MPI_MAX_PSET_NAME_LEN);
    int null_length = 0;
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &null_length, NULL));
    CHECK_EQUAL(null_length, length);
    char *name = malloc(length + 1);
    name[length] = 'x';
    int room = length;
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, name));
    CHECK_EQUAL(room, length);
    CHECK_EQUAL(strlen(name), length - 1);
    CHECK(name[length] == 'x');
    // A short buffer gets what fits, with its NUL.
    char cut[6] = "#####";
    room = 5;
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, cut));
    CHECK_EQUAL(room, length);
    CHECK_EQUAL(strlen(cut), 4);
    CHECK(strncmp(cut, name, 4) == 0);
    room = 1;
    cut[0] = '#';
    CHECK_OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, cut));
    CHECK(cut[0] == 0);
    CHECK_EQUAL(room, length);
    if (strcmp(name, "mpi://WORLD") == 0) world_at = n;
    if (strcmp(name, "mpi://SELF") == 0) self_at = n;
    // Every set says how many processes it has, and the caller is one of them.
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_Session_get_pset_info(session, name, &info));
    char value[32] = "";
    int size = sizeof value, flag = 0, members = -1, mine = -1;
    CHECK_OK(MPI_Info_get_string(info, "mpi_size", &size, value, &flag));
    CHECK(flag);
    CHECK_OK(MPI_Info_free(&info));
    MPI_Group group = MPI_GROUP_NULL;
    CHECK_OK(MPI_Group_from_session_pset(session, name, &group));
    CHECK_OK(MPI_Group_size(group, &members));
    CHECK_EQUAL(members, atoi(value));
    CHECK_OK(MPI_Group_rank(group, &mine));
    CHECK(mine >= 0 && mine < members);
    if (n == world_at) world_size = members, rank = mine;
    if (n == self_at) CHECK_EQUAL(members, 1);
    CHECK_OK(MPI_Group_free(&group));
    free(name);
  }
  CHECK(world_at >= 0 && self_at >= 0);

  // Scheme and authority of a URI are the same in upper and lower case.
  MPI_Group lower, upper, none = MPI_GROUP_EMPTY;
  int result = -1;
  CHECK_OK(MPI_Group_from_session_pset(session, "MPI://world", &lower));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &upper));
  CHECK_OK(MPI_Group_compare(lower, upper, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&lower));
  CHECK_OK(MPI_Group_free(&upper));
  // A name that is no process set is an error, and gives the null group.
  CHECK_CLASS(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &none), MPI_ERR_ARG);
  CHECK(none == MPI_GROUP_NULL);

  int length = 0;
  char text[8];
  MPI_Info info;
  CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, sets, &length, text), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, text), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info), MPI_ERR_ARG);

  // None of this is the world model.
  int flag = 1;
  CHECK_EQUAL(MPI_Initialized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
  CHECK_EQUAL(MPI_Initialized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 0);
  CHECK_EQUAL(MPI_Finalized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 0);

  // The world of the world model is the same, in the same order.
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_EQUAL(world_size, size);
  CHECK_EQUAL(rank, check_rank);
  return check_end();
}
