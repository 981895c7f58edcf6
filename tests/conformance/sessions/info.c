// Hints of sessions: thread level and memory allocation kinds, asked for and told.
#include "check.h"

static void get(MPI_Session session, const char *key, char value[256]) {
  MPI_Info info = MPI_INFO_NULL;
  int length = 256, flag = 0;
  value[0] = 0;
  CHECK_OK(MPI_Session_get_info(session, &info));
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK(flag);
  CHECK_OK(MPI_Info_free(&info));
}

// Tells whether a kind is in a list of kinds, spelled the same.
static int lists(const char *list, const char *kind) {
  size_t length = strlen(kind);
  for (const char *at = list; (at = strstr(at, kind)); at++)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return 1;
  return 0;
}

int main(int argc, char **argv) {
  static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                       "MPI_THREAD_MULTIPLE"};
  char value[256];
  MPI_Session session;
  for (int asked = 0; asked < 4; asked++) {
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "thread_level", levels[asked]));
    CHECK_OK(MPI_Info_set(info, "of_no_meaning", "x"));
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK_OK(MPI_Info_free(&info));
    get(session, "thread_level", value);
    int provided = -1;
    for (int i = 0; i < 4; i++)
      if (strcmp(value, levels[i]) == 0) provided = i;
    CHECK(provided >= asked);
    // The info object is a new one each time: changing it changes no session.
    CHECK_OK(MPI_Session_get_info(session, &info));
    CHECK_OK(MPI_Info_set(info, "thread_level", "nonsense"));
    CHECK_OK(MPI_Info_free(&info));
    get(session, "thread_level", value);
    CHECK(strcmp(value, "nonsense") != 0);
    CHECK_OK(MPI_Session_finalize(&session));
  }

  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  get(session, "mpi_memory_alloc_kinds", value);
  CHECK(lists(value, "mpi") && lists(value, "system"));
  CHECK_OK(MPI_Session_finalize(&session));

  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "mpi:alloc_mem, mpi:win_allocate:alloc_mem,gpu:device"));
  CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  get(session, "mpi_memory_alloc_kinds", value);
  CHECK(lists(value, "mpi:alloc_mem"));
  CHECK(lists(value, "mpi:win_allocate:alloc_mem"));
  CHECK(!strstr(value, "gpu"));
  CHECK(!strchr(value, ' '));
  CHECK_OK(MPI_Session_finalize(&session));
  // An empty list asks for nothing.
  CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", ""));
  CHECK_OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  get(session, "mpi_memory_alloc_kinds", value);
  CHECK(!strstr(value, ",,") && value[0] != ',' && lists(value, "system"));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_OK(MPI_Info_free(&info));
  return check_failures != 0;
}
