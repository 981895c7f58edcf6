// Error handlers may call the library: change themselves, communicate, and fail in turn.
#include "check.h"

static int depth, calls, nested, got;

static void inner(MPI_Comm *comm, int *code, ...) {
  nested++;
  CHECK(*comm == MPI_COMM_SELF);
  CHECK_CLASS(*code, MPI_ERR_TAG);
}

static void outer(MPI_Comm *comm, int *code, ...) {
  calls++;
  CHECK_EQUAL(depth, 0);
  depth++;
  MPI_Errhandler mine, other;
  MPI_Comm dup;
  char text[MPI_MAX_ERROR_STRING];
  int length, value = 77;
  CHECK_OK(MPI_Error_string(*code, text, &length));
  CHECK(length > 0);
  // A message to itself, a collective call of one, an error on another communicator.
  CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &dup));
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_create_errhandler(inner, &other));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, other));
  CHECK_OK(MPI_Errhandler_free(&other));
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -9, MPI_COMM_SELF), MPI_ERR_TAG);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  // From now on errors of this communicator are returned.
  CHECK_OK(MPI_Comm_get_errhandler(*comm, &mine));
  CHECK_OK(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&mine));
  depth--;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm comm;
  MPI_Errhandler handler;
  int size, value = 0;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_size(comm, &size));
  CHECK_OK(MPI_Comm_create_errhandler(outer, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 1);
  CHECK_EQUAL(nested, 1);
  CHECK_EQUAL(got, 77);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 1);

  // Many handlers come and go, while some stay in use.
  MPI_Comm kept[5];
  for (int i = 0; i < 5; i++) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &kept[i]));
    CHECK_OK(MPI_Comm_create_errhandler(inner, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(kept[i], handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    for (int k = 0; k < 200; k++) {
      CHECK_OK(MPI_Comm_create_errhandler(outer, &handler));
      MPI_Errhandler copy = handler;
      CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
      CHECK_OK(MPI_Errhandler_free(&handler));
      CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      CHECK_CLASS(MPI_Comm_set_errhandler(comm, copy), MPI_ERR_ERRHANDLER);
    }
  }
  for (int i = 0; i < 5; i++) {
    // What is in use can be asked for again, and is the program's to free again.
    CHECK_OK(MPI_Comm_get_errhandler(kept[i], &handler));
    CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_free(&kept[i]));
  }
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
