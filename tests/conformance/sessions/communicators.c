// Communicators and windows from sessions: attributes, hints, error handlers, and their end with the session.
// weft-test: faults=yes
#include "check.h"

static int calls, last_class, deleted;
static MPI_Comm last_comm;

static void on_comm(MPI_Comm *comm, int *code, ...) {
  calls++;
  last_comm = *comm;
  MPI_Error_class(*code, &last_class);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra) {
  deleted++;
  return MPI_SUCCESS;
}

static int has(MPI_Comm comm, int key) {
  int flag = -1, *value = NULL;
  CHECK_OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  if (flag && key == MPI_TAG_UB) CHECK(*value >= 32767);
  return flag;
}

static void get(MPI_Comm comm, const char *key, char value[256]) {
  MPI_Info info;
  int length = 256, flag = 0;
  value[0] = 0;
  CHECK_OK(MPI_Comm_get_info(comm, &info));
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK_OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
  MPI_Session session, other;
  MPI_Group world, back;
  MPI_Comm comm, dup, second;
  MPI_Errhandler handler, found;
  MPI_Info info;
  char value[256], expected[256];
  int size, rank, sum, key;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "mpi:win_allocate"));
  CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  CHECK_OK(MPI_Comm_create_errhandler(on_comm, &handler));
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system"));
  CHECK_OK(MPI_Comm_create_from_group(world, "weft.test.one", info, handler, &comm));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  check_rank = rank;
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, size * (size - 1) / 2);

  // Only what does not need the world model is known of it.
  CHECK(has(comm, MPI_TAG_UB));
  CHECK(!has(comm, MPI_APPNUM) && !has(comm, MPI_UNIVERSE_SIZE) && !has(comm, MPI_LASTUSEDCODE));
  get(comm, "mpi_memory_alloc_kinds", value);
  CHECK(strstr(value, "mpi:win_allocate"));
  strcpy(expected, value);
  get(comm, "mpi_assert_memory_alloc_kinds", value);
  CHECK(strcmp(value, "system") == 0);

  // Errors: on the communicator, with the handler it was created with, and on what is made from it.
  CHECK_OK(MPI_Comm_get_errhandler(comm, &found));
  CHECK(found == handler);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_CLASS(MPI_Send(&rank, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 1);
  CHECK(last_comm == comm);
  CHECK_OK(MPI_Comm_dup(comm, &dup));
  CHECK_CLASS(MPI_Send(&rank, 1, MPI_INT, size, 0, dup), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 2);
  CHECK(last_comm == dup);
  get(dup, "mpi_memory_alloc_kinds", value);
  CHECK(strcmp(value, expected) == 0);
  // A group of it leads back to the session's handler, which returns.
  CHECK_OK(MPI_Comm_group(dup, &back));
  CHECK_CLASS(MPI_Group_size(back, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 2);
  CHECK_OK(MPI_Group_free(&back));

  // A window of it.
  MPI_Win win;
  int *base, flag;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, dup, &base, &win));
  int length = sizeof value;
  CHECK_OK(MPI_Win_get_info(win, &info));
  CHECK_OK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value, &flag));
  CHECK(flag && strcmp(value, expected) == 0);
  CHECK_OK(MPI_Info_free(&info));

  // Ending another session changes nothing; ending this one ends what comes from it, without delete functions.
  CHECK_OK(MPI_Session_finalize(&other));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
  CHECK_OK(MPI_Comm_set_attr(comm, key, &key));
  CHECK_OK(MPI_Comm_set_attr(dup, key, &key));
  CHECK_OK(MPI_Barrier(dup));
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Comm_disconnect(&dup));
  CHECK_EQUAL(deleted, 1);
  CHECK_OK(MPI_Group_free(&world));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_EQUAL(deleted, 1);

  check_init(&argc, &argv);
  CHECK_CLASS(MPI_Comm_size(comm, &size), MPI_ERR_COMM);
  CHECK_OK(MPI_Comm_free_keyval(&key));
  // The name of a communicator is free again, also for groups of the world model.
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Comm_create_from_group(world, "weft.test.one", MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, second));
  CHECK_EQUAL(sum, size * (size - 1) / 2);
  CHECK(has(second, MPI_TAG_UB));
  CHECK_OK(MPI_Comm_free(&second));
  CHECK_OK(MPI_Group_free(&world));
  return check_end();
}
