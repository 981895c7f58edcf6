// Windows of every flavor: their group, attributes, memory, hints, and their end.
#include "check.h"
#include <stdint.h>

static void *attribute(MPI_Win win, int key) {
  void *value = NULL;
  int flag = 0;
  CHECK_OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK(flag);
  return value;
}

static void describe(MPI_Win win, void *base, MPI_Aint size, int unit, int flavor) {
  CHECK(attribute(win, MPI_WIN_BASE) == base);
  CHECK_EQUAL(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE), size);
  CHECK_EQUAL(*(int *)attribute(win, MPI_WIN_DISP_UNIT), unit);
  CHECK_EQUAL(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR), flavor);
  int model = *(int *)attribute(win, MPI_WIN_MODEL);
  CHECK(model == MPI_WIN_SEPARATE || model == MPI_WIN_UNIFIED);
  MPI_Errhandler handler;
  CHECK_OK(MPI_Win_get_errhandler(win, &handler));
  CHECK(handler == MPI_ERRORS_ARE_FATAL);
}

static int hint(MPI_Win win, const char *key, char value[256]) {
  MPI_Info info;
  int length = 256, flag = 0;
  value[0] = 0;
  CHECK_OK(MPI_Win_get_info(win, &info));
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK_OK(MPI_Info_free(&info));
  return flag;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, result;
  MPI_Comm comm;
  MPI_Group of_comm, of_win;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK_OK(MPI_Comm_group(comm, &of_comm));

  // The program's memory; every rank may bring something else, or nothing.
  double array[20];
  MPI_Win win = MPI_WIN_NULL, other;
  MPI_Aint bytes = rank % 3 == 1 ? 0 : (rank + 1) * (MPI_Aint)sizeof(double) % sizeof array;
  CHECK_OK(MPI_Win_create(bytes ? array : NULL, bytes, 1 + rank, MPI_INFO_NULL, comm, &win));
  CHECK(win != MPI_WIN_NULL);
  describe(win, bytes ? array : NULL, bytes, 1 + rank, MPI_WIN_FLAVOR_CREATE);
  CHECK_OK(MPI_Win_get_group(win, &of_win));
  CHECK_OK(MPI_Group_compare(of_comm, of_win, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&of_win));
  CHECK_OK(MPI_Win_create(array, sizeof array, 8, MPI_INFO_NULL, comm, &other));
  CHECK(other != win);
  CHECK_OK(MPI_Win_free(&other));
  CHECK(other == MPI_WIN_NULL);
  // The window outlives its communicator.
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Win_get_group(win, &of_win));
  CHECK_OK(MPI_Group_compare(of_comm, of_win, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&of_win));
  CHECK_OK(MPI_Group_free(&of_comm));
  CHECK_OK(MPI_Win_free(&win));

  // The library's memory.
  char *memory = NULL;
  CHECK_OK(MPI_Win_allocate(1000 + check_rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  CHECK(memory != NULL && (uintptr_t)memory % 16 == 0);
  memset(memory, check_rank, 1000 + check_rank);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 1000 + check_rank; i++) CHECK(memory[i] == check_rank);
  describe(win, memory, 1000 + check_rank, 1, MPI_WIN_FLAVOR_ALLOCATE);
  CHECK_OK(MPI_Win_free(&win));

  MPI_Info info;
  char value[256];
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096"));
  CHECK_OK(MPI_Info_set(info, "no_locks", "true"));
  CHECK_OK(MPI_Info_set(info, "accumulate_ops", "nonsense"));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system"));
  CHECK_OK(MPI_Info_set(info, "of_no_meaning", "true"));
  CHECK_OK(MPI_Win_allocate_c(100, 1, info, MPI_COMM_WORLD, &memory, &win));
  CHECK((uintptr_t)memory % 4096 == 0);
  CHECK(hint(win, "no_locks", value) && strcmp(value, "true") == 0);
  CHECK(hint(win, "accumulate_ops", value) && strcmp(value, "same_op_no_op") == 0);
  CHECK(hint(win, "accumulate_ordering", value) && strcmp(value, "rar,raw,war,waw") == 0);
  CHECK(hint(win, "mpi_assert_memory_alloc_kinds", value) && strcmp(value, "system") == 0);
  CHECK(hint(win, "mpi_memory_alloc_kinds", value) && strstr(value, "system"));
  CHECK(!hint(win, "of_no_meaning", value));
  CHECK_OK(MPI_Info_free(&info));
  // Setting hints leaves those alone that are not named.
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "accumulate_ops", "same_op"));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "gpu"));
  CHECK_OK(MPI_Win_set_info(win, info));
  CHECK(hint(win, "accumulate_ops", value) && strcmp(value, "same_op") == 0);
  CHECK(hint(win, "no_locks", value) && strcmp(value, "true") == 0);
  CHECK(hint(win, "mpi_assert_memory_alloc_kinds", value) && strcmp(value, "system") == 0);
  CHECK_OK(MPI_Win_set_info(win, MPI_INFO_NULL));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Win_free(&win));

  // Ranks may promise different things; a promise made later does not count.
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "no_locks", check_rank % 2 ? "true" : "false"));
  CHECK_OK(MPI_Win_create(array, sizeof array, 1, info, MPI_COMM_WORLD, &win));
  CHECK(hint(win, "no_locks", value) && strcmp(value, check_rank % 2 ? "true" : "false") == 0);
  CHECK_OK(MPI_Info_set(info, "no_locks", check_rank % 2 ? "false" : "true"));
  CHECK_OK(MPI_Win_set_info(win, info));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Win_free(&win));

  // Memory attached later.
  CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  describe(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Win_attach(win, array, 5 * sizeof(double)));
  CHECK_OK(MPI_Win_attach(win, array + 5, 5 * sizeof(double)));
  CHECK_CLASS(MPI_Win_attach(win, array + 4, sizeof(double)), MPI_ERR_RMA_ATTACH);
  CHECK_OK(MPI_Win_detach(win, array));
  CHECK(MPI_Win_detach(win, array) != MPI_SUCCESS);
  CHECK_OK(MPI_Win_attach(win, array + 4, sizeof(double)));
  MPI_Aint extent;
  int unit;
  CHECK_CLASS(MPI_Win_shared_query(win, 0, &extent, &unit, &memory), MPI_ERR_RMA_FLAVOR);
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
