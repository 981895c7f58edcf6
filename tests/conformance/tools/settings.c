// Control variables have the values that the job's command line gives.
// weft-test: mpirun=--set,eager=2K,--set,net-exclude=lo
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  int provided, index = -1, count = 0;
  uint64_t bytes = 0;
  char text[10] = "";
  MPI_T_cvar_handle handle;
  check_init(&argc, &argv);
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_cvar_get_index("eager", &index));
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK_EQUAL(count, 1);
  CHECK_OK(MPI_T_cvar_read(handle, &bytes));
  CHECK_EQUAL(bytes, 2048);
  CHECK_OK(MPI_T_cvar_handle_free(&handle));
  CHECK_OK(MPI_T_cvar_get_index("net-exclude", &index));
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK_EQUAL(count, 3);
  CHECK_OK(MPI_T_cvar_read(handle, text));
  CHECK(!strcmp(text, "lo"));
  CHECK_OK(MPI_T_cvar_handle_free(&handle));
  CHECK_OK(MPI_T_finalize());
  return check_end();
}
