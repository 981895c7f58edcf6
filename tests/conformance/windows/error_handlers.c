// Error handlers of windows, and where the errors of creating one go.
#include "check.h"

static int calls, last_class, of_comm;
static MPI_Win last_win;

static void handler(MPI_Win *win, int *code, ...) {
  calls++;
  last_win = *win;
  MPI_Error_class(*code, &last_class);
}

static void on_comm(MPI_Comm *comm, int *code, ...) { of_comm++; }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm comm;
  MPI_Errhandler mine, theirs, found;
  MPI_Win win, none;
  int value = 0;
  MPI_Group group;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_create_errhandler(on_comm, &theirs));
  CHECK_OK(MPI_Comm_set_errhandler(comm, theirs));
  CHECK_CLASS(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, comm, &none), MPI_ERR_SIZE);
  CHECK_EQUAL(of_comm, 1);
  CHECK_CLASS(MPI_Win_create(&value, sizeof value, 0, MPI_INFO_NULL, comm, &none), MPI_ERR_DISP);
  CHECK_EQUAL(of_comm, 2);
  CHECK_CLASS(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, comm, &value, &none), MPI_ERR_SIZE);
  CHECK_EQUAL(of_comm, 3);
  CHECK_OK(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, comm, &win));
  // It inherits nothing from its communicator.
  CHECK_OK(MPI_Win_get_errhandler(win, &found));
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  CHECK_OK(MPI_Win_create_errhandler(handler, &mine));
  CHECK_OK(MPI_Win_set_errhandler(win, mine));
  CHECK_OK(MPI_Win_get_errhandler(win, &found));
  CHECK(found == mine);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK_CLASS(MPI_Win_get_group(win, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 1);
  CHECK(last_win == win);
  CHECK_EQUAL(last_class, MPI_ERR_ARG);
  CHECK_OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
  CHECK_EQUAL(calls, 2);
  CHECK_EQUAL(last_class, MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_set_errhandler(win, theirs), MPI_ERR_ERRHANDLER);
  CHECK_EQUAL(calls, 3);
  CHECK_CLASS(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  CHECK_EQUAL(calls, 3);
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Win_get_group(win, NULL), MPI_ERR_ARG);
  CHECK_EQUAL(calls, 3);
  // Bad handles go to MPI_COMM_SELF.
  CHECK_CLASS(MPI_Win_get_group(MPI_WIN_NULL, &group), MPI_ERR_WIN);
  CHECK_CLASS(MPI_Win_call_errhandler(MPI_WIN_NULL, MPI_ERR_OTHER), MPI_ERR_WIN);
  none = MPI_WIN_NULL;
  CHECK_CLASS(MPI_Win_free(&none), MPI_ERR_WIN);
  none = win;
  CHECK_OK(MPI_Win_free(&win));
  CHECK_CLASS(MPI_Win_free(&none), MPI_ERR_WIN);
  CHECK_EQUAL(of_comm, 3);
  CHECK_OK(MPI_Errhandler_free(&theirs));
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
