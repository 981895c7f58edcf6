// Some ranks derive two communicators from one session, others from a session each, and they finalise them in either
// order without freeing the communicators. Again and again.
// weft-test: faults=yes
#include "check.h"

static MPI_Comm create(MPI_Session session, const char *name) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank, size, sum;
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, size * (size - 1) / 2);
  check_rank = rank;
  return comm;
}

int main(int argc, char **argv) {
  for (int round = 0; round < 20; round++) {
    MPI_Session one, two;
    MPI_Comm first, second;
    int result;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one));
    two = one;
    first = create(one, "weft.test.first");
    int separate = check_rank % 2;
    if (separate) CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &two));
    second = create(two, "weft.test.second");
    // Objects of different sessions must not meet in one call.
    if (!separate) {
      CHECK_OK(MPI_Comm_compare(first, second, &result));
      CHECK_EQUAL(result, MPI_CONGRUENT);
    }
    // The second communicator still works when the session of the first is gone.
    if (separate) {
      CHECK_OK(MPI_Session_finalize(&one));
      CHECK_OK(MPI_Barrier(second));
      CHECK_OK(MPI_Session_finalize(&two));
    } else {
      CHECK_OK(MPI_Barrier(second));
      CHECK_OK(MPI_Session_finalize(&one));
    }
  }
  return check_failures != 0;
}
