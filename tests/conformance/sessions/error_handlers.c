// Error handlers of sessions, and which handler takes the errors of procedures on sessions and groups.
// weft-test: faults=yes
#include "check.h"

static int calls, last_class;
static MPI_Session last_session;

static void handler(MPI_Session *session, int *code, ...) {
  calls++;
  last_session = *session;
  MPI_Error_class(*code, &last_class);
}

static void other(MPI_Comm *comm, int *code, ...) { calls += 1000; }

int main(int argc, char **argv) {
  MPI_Errhandler mine, found, wrong;
  // A handler can be made before anything is initialised.
  CHECK_EQUAL(MPI_Session_create_errhandler(handler, &mine), MPI_SUCCESS);
  MPI_Session session, quiet;
  CHECK_EQUAL(MPI_Session_init(MPI_INFO_NULL, mine, &session), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &quiet), MPI_SUCCESS);
  CHECK_OK(MPI_Session_get_errhandler(session, &found));
  CHECK(found == mine);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK(found == MPI_ERRHANDLER_NULL);
  CHECK_OK(MPI_Session_get_errhandler(quiet, &found));
  CHECK(found == MPI_ERRORS_RETURN);

  int length = 0, size;
  CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 1);
  CHECK_EQUAL(last_class, MPI_ERR_ARG);
  CHECK(last_session == session);
  CHECK_CLASS(MPI_Session_get_nth_pset(quiet, MPI_INFO_NULL, 99, &length, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 1);

  // By hand, on the handler that is set.
  CHECK_OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  CHECK_EQUAL(calls, 2);
  CHECK_EQUAL(last_class, MPI_ERR_OTHER);
  CHECK_OK(MPI_Session_call_errhandler(quiet, MPI_ERR_OTHER));
  CHECK_EQUAL(calls, 2);

  // A group takes the errors of its procedures to the session it comes from, and so do groups made from it.
  MPI_Group group, part, plain;
  int zero = 0, far = 1 << 20;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_CLASS(MPI_Group_incl(group, 1, &far, &part), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 3);
  CHECK(last_session == session);
  CHECK_OK(MPI_Group_incl(group, 1, &zero, &part));
  CHECK_CLASS(MPI_Group_size(part, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 4);
  CHECK_OK(MPI_Group_from_session_pset(quiet, "mpi://WORLD", &plain));
  CHECK_CLASS(MPI_Group_size(plain, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 4);
  CHECK_OK(MPI_Group_free(&plain));
  CHECK_OK(MPI_Group_free(&part));

  // The argument of MPI_Session_init takes the errors of the call itself, with no session.
  MPI_Session none = MPI_SESSION_NULL;
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  MPI_Info gone = info;
  CHECK_OK(MPI_Info_free(&info));
  CHECK_CLASS(MPI_Session_init(gone, mine, &none), MPI_ERR_INFO);
  CHECK_EQUAL(calls, 5);
  CHECK(last_session == MPI_SESSION_NULL);
  CHECK_CLASS(MPI_Session_init(gone, MPI_ERRORS_RETURN, &none), MPI_ERR_INFO);
  CHECK_EQUAL(calls, 5);

  // The program's reference is not the session's.
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK(mine == MPI_ERRHANDLER_NULL);
  CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 6);
  CHECK_OK(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 6);

  // A handler for communicators is none for sessions.
  CHECK_OK(MPI_Comm_create_errhandler(other, &wrong));
  CHECK_CLASS(MPI_Session_set_errhandler(session, wrong), MPI_ERR_ERRHANDLER);
  CHECK_CLASS(MPI_Session_set_errhandler(session, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  CHECK_OK(MPI_Errhandler_free(&wrong));

  // Beside the world model, errors without an object, and of stale ones, go to MPI_COMM_SELF.
  check_init(&argc, &argv);
  MPI_Session stale = session;
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_CLASS(MPI_Session_get_nth_pset(stale, MPI_INFO_NULL, 0, &length, NULL), MPI_ERR_SESSION);
  CHECK_CLASS(MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &length), MPI_ERR_SESSION);
  CHECK_CLASS(MPI_Session_call_errhandler(stale, MPI_ERR_OTHER), MPI_ERR_SESSION);
  CHECK_CLASS(MPI_Group_size(group, &size), MPI_ERR_GROUP);
  CHECK_OK(MPI_Session_finalize(&quiet));
  CHECK_EQUAL(calls, 6);
  return check_end();
}
