// MPI_INFO_ENV and MPI_Info_create_env tell how the program was started.
// weft-test: args=one,two mpirun=-memory-alloc-kinds,mpi:alloc_mem
#include "check.h"
#include <unistd.h>

static int get(MPI_Info info, const char *key, char value[1024]) {
  int length = 1024, flag = -1;
  value[0] = 0;
  CHECK_EQUAL(MPI_Info_get_string(info, key, &length, value, &flag), MPI_SUCCESS);
  return flag;
}

int main(int argc, char **argv) {
  char value[1024], directory[1024];
  MPI_Info info, later;
  // Without arguments, and with those of the program.
  CHECK_EQUAL(MPI_Info_create_env(0, NULL, &info), MPI_SUCCESS);
  CHECK(get(info, "command", value) && strcmp(value, argv[0]) == 0);
  CHECK(get(info, "argv", value) && strcmp(value, "one two") == 0);
  CHECK_EQUAL(MPI_Info_set(info, "command", "changed"), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_free(&info), MPI_SUCCESS);
  char *mine[] = {"me", "a", "b", NULL};
  CHECK_EQUAL(MPI_Info_create_env(3, mine, &info), MPI_SUCCESS);
  CHECK(get(info, "command", value) && strcmp(value, "me") == 0);
  CHECK(get(info, "argv", value) && strcmp(value, "a b") == 0);

  check_init(&argc, &argv);
  int size, count, flag;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(get(MPI_INFO_ENV, "command", value) && strcmp(value, argv[0]) == 0);
  CHECK(get(MPI_INFO_ENV, "argv", value) && strcmp(value, "one two") == 0);
  CHECK(get(MPI_INFO_ENV, "maxprocs", value) && atoi(value) == size);
  CHECK(get(MPI_INFO_ENV, "host", value) && value[0]);
  CHECK(get(MPI_INFO_ENV, "arch", value) && value[0]);
  CHECK(get(MPI_INFO_ENV, "wdir", value) && getcwd(directory, sizeof directory) && strcmp(value, directory) == 0);
  // What was asked for, not what is provided.
  CHECK(get(MPI_INFO_ENV, "mpi_memory_alloc_kinds", value) && strcmp(value, "mpi:alloc_mem") == 0);
  CHECK(!get(MPI_INFO_ENV, "thread_level", value));
  CHECK(!get(MPI_INFO_ENV, "mpi_initial_errhandler", value));
  CHECK_OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &count));
  for (int i = 0; i < count; i++) {
    CHECK_OK(MPI_Info_get_nthkey(MPI_INFO_ENV, i, value));
    CHECK(get(MPI_INFO_ENV, value, directory));
  }
  // It cannot be changed; a duplicate can.
  MPI_Info handle = MPI_INFO_ENV;
  CHECK_CLASS(MPI_Info_set(MPI_INFO_ENV, "host", "x"), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Info_delete(MPI_INFO_ENV, "host"), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Info_free(&handle), MPI_ERR_INFO);
  CHECK_OK(MPI_Info_dup(MPI_INFO_ENV, &later));
  CHECK_OK(MPI_Info_set(later, "host", "elsewhere"));
  CHECK_OK(MPI_Info_delete(later, "command"));
  CHECK_OK(MPI_Info_free(&later));
  CHECK(get(MPI_INFO_ENV, "command", value));
  CHECK_OK(MPI_Info_free(&info));

  // The kinds that mpirun asks for are provided in the world model, and in a session that asks for nothing.
  MPI_Session session;
  CHECK_OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  flag = get(info, "mpi_memory_alloc_kinds", value);
  CHECK(flag && strstr(value, "mpi:alloc_mem") && strstr(value, "system"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Session_get_info(session, &info));
  CHECK(get(info, "mpi_memory_alloc_kinds", directory) && strcmp(value, directory) == 0);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Session_finalize(&session));
  return check_end();
}
