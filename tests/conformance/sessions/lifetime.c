// Sessions beside each other and beside the world model: before, during and after it, again and again.
#include "check.h"

static MPI_Session start(void) {
  MPI_Session session = MPI_SESSION_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK(session != MPI_SESSION_NULL);
  return session;
}

// Creates and frees a datatype, which needs the library, whoever made it usable.
static void use_library(void) {
  MPI_Datatype pair;
  int size = 0;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  CHECK_OK(MPI_Type_size(pair, &size));
  CHECK_EQUAL(size, 2 * sizeof(int));
  CHECK_OK(MPI_Type_free(&pair));
}

static int group_size(MPI_Session session, const char *name) {
  MPI_Group group;
  int size = -1;
  CHECK_OK(MPI_Group_from_session_pset(session, name, &group));
  CHECK_OK(MPI_Group_size(group, &size));
  CHECK_OK(MPI_Group_free(&group));
  return size;
}

int main(int argc, char **argv) {
  int flag = -1, size;
  MPI_Datatype kept;
  MPI_Session first = start(), second = start();
  CHECK(first != second);
  use_library();
  // A datatype belongs to no session: it outlives the one that was there when it was made.
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &kept));
  CHECK_OK(MPI_Session_finalize(&first));
  use_library();
  CHECK_OK(MPI_Session_finalize(&second));
  for (int i = 0; i < 100; i++) {
    MPI_Session session = start();
    CHECK_EQUAL(group_size(session, "mpi://SELF"), 1);
    CHECK_OK(MPI_Session_finalize(&session));
  }
  MPI_Session before = start();
  CHECK_OK(MPI_Type_size(kept, &size));
  CHECK_EQUAL(size, 3 * sizeof(int));
  CHECK_OK(MPI_Type_free(&kept));
  // The communicators of the world model are not valid yet.
  CHECK_OK(MPI_Session_set_errhandler(before, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Initialized(&flag));
  CHECK_EQUAL(flag, 0);

  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Initialized(&flag));
  CHECK_EQUAL(flag, 1);
  MPI_Session during = start();
  CHECK_EQUAL(group_size(before, "mpi://WORLD"), size);
  CHECK_EQUAL(group_size(during, "mpi://WORLD"), size);
  // Finalising a session leaves the world model and other sessions alone.
  CHECK_OK(MPI_Session_finalize(&during));
  CHECK_CLASS(MPI_Session_finalize(&during), MPI_ERR_SESSION);
  MPI_Session stale = before;
  CHECK_EQUAL(group_size(before, "mpi://WORLD"), size);
  MPI_Session across = start();
  CHECK_OK(MPI_Session_finalize(&before));
  CHECK_CLASS(MPI_Session_finalize(&stale), MPI_ERR_SESSION);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));

  int failed = check_end();
  // The world model is gone, the session is not.
  CHECK_OK(MPI_Finalized(&flag));
  CHECK_EQUAL(flag, 1);
  use_library();
  CHECK_EQUAL(group_size(across, "mpi://WORLD"), size);
  MPI_Session after = start();
  CHECK_OK(MPI_Session_finalize(&across));
  CHECK_EQUAL(group_size(after, "mpi://WORLD"), size);
  use_library();
  CHECK_OK(MPI_Session_finalize(&after));
  after = start();
  CHECK_OK(MPI_Session_finalize(&after));
  CHECK_OK(MPI_Initialized(&flag));
  CHECK_EQUAL(flag, 1);
  CHECK_OK(MPI_Finalized(&flag));
  CHECK_EQUAL(flag, 1);
  return failed || check_failures;
}
