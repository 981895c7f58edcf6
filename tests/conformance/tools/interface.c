// The tool information interface begins and ends on its own, before MPI_Init and after MPI_Finalize, as often as a program likes.
// weft-test: faults=yes
#include "check.h"

static void before(void) {
  int number = -1;
  CHECK_CLASS(MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_CLASS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_EQUAL(number, -1);
}

int main(int argc, char **argv) {
  int provided = -1, number = -1, again = -1, is_initialized = -1;
  before();
  CHECK_CLASS(MPI_T_init_thread(12345, &provided), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
  before();
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK(provided == MPI_THREAD_SINGLE || provided == MPI_THREAD_MULTIPLE);
  MPI_Initialized(&is_initialized);
  CHECK(!is_initialized);
  CHECK_OK(MPI_T_cvar_get_num(&number));
  check_init(&argc, &argv);
  CHECK_OK(PMPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  CHECK_OK(PMPI_T_cvar_get_num(&again));
  CHECK(again >= number);
  CHECK_OK(MPI_T_finalize());
  CHECK_OK(MPI_T_cvar_get_num(&again));
  // Errors of the interface reach no error handler; this one would end the job.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CHECK_CLASS(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
  int all = check_end();
  CHECK_OK(MPI_T_cvar_get_num(&again));
  CHECK_OK(MPI_T_finalize());
  before();
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_finalize());
  return all || check_failures;
}
