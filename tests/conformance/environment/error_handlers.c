// Error handlers: created, set, inherited, called by an error and by hand, freed while still in use.
#include "check.h"

static int calls, last_class;
static MPI_Comm last_comm;

static void handler(MPI_Comm *comm, int *code, ...) {
  calls++;
  last_comm = *comm;
  MPI_Error_class(*code, &last_class);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int size, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Errhandler current, mine;
  CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &current));
  CHECK(current == MPI_ERRORS_ARE_FATAL);
  CHECK_OK(MPI_Comm_create_errhandler(handler, &mine));
  CHECK(mine != MPI_ERRHANDLER_NULL);
  MPI_Comm comm, child;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, mine));
  CHECK_OK(MPI_Comm_get_errhandler(comm, &current));
  CHECK(current == mine);
  CHECK_OK(MPI_Errhandler_free(&current));
  CHECK(current == MPI_ERRHANDLER_NULL);
  // A communicator made from it inherits the handler; freeing the program's reference changes nothing.
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK(mine == MPI_ERRHANDLER_NULL);

  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size + 3, 0, comm), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 1);
  CHECK_EQUAL(last_class, MPI_ERR_RANK);
  CHECK(last_comm == comm);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -5, child), MPI_ERR_TAG);
  CHECK_EQUAL(calls, 2);
  CHECK(last_comm == child);
  CHECK_CLASS(MPI_Send(&value, -1, MPI_INT, 0, 0, child), MPI_ERR_COUNT);
  CHECK_EQUAL(calls, 3);
  CHECK_CLASS(MPI_Bcast(&value, 1, MPI_INT, size, child), MPI_ERR_ROOT);
  CHECK_EQUAL(calls, 4);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, child), MPI_ERR_TYPE);
  CHECK_EQUAL(calls, 5);

  CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  CHECK_EQUAL(calls, 6);
  CHECK_EQUAL(last_class, MPI_ERR_OTHER);

  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  CHECK_EQUAL(calls, 6);
  CHECK_OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
  CHECK_EQUAL(calls, 6);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &value), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
  return check_end();
}
