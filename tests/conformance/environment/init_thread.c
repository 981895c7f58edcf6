// Every level of thread support may be asked for; what is provided is at least that, and MPI_THREAD_MULTIPLE is.
// MPI_Init may be called without arguments.
#include "check.h"

int main(void) {
  int provided = -1, queried = -1, rank, flag;
  CHECK_EQUAL(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_rank = rank;
  MPI_Query_thread(&queried);
  CHECK_EQUAL(queried, provided);
  CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
        MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE);
  MPI_Is_thread_main(&flag);
  CHECK_EQUAL(flag, 1);
  return check_end();
}
