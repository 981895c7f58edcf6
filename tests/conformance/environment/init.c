// What may be asked before MPI_Init and after MPI_Finalize, and what the library says about itself in between.
#include "check.h"

static int finalized_in_callback = -1, callbacks;

static int delete_callback(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  CHECK_EQUAL(*(int *)value, 42);
  MPI_Finalized(&finalized_in_callback);
  callbacks++;
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  int flag = -1, version = 0, subversion = -1, length = -1;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Initialized(&flag);
  CHECK_EQUAL(flag, 0);
  MPI_Finalized(&flag);
  CHECK_EQUAL(flag, 0);
  MPI_Get_version(&version, &subversion);
  CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
  MPI_Get_library_version(text, &length);
  CHECK(length > 0 && length == (int)strlen(text));

  check_init(&argc, &argv);
  CHECK(argc >= 1 && argv[argc] == NULL);
  MPI_Initialized(&flag);
  CHECK_EQUAL(flag, 1);
  MPI_Finalized(&flag);
  CHECK_EQUAL(flag, 0);
  int provided = -1;
  CHECK_OK(MPI_Query_thread(&provided));
  CHECK(provided == MPI_THREAD_SINGLE || provided == MPI_THREAD_FUNNELED || provided == MPI_THREAD_SERIALIZED ||
        provided == MPI_THREAD_MULTIPLE);
  CHECK_OK(MPI_Is_thread_main(&flag));
  CHECK_EQUAL(flag, 1);

  char host[MPI_MAX_PROCESSOR_NAME];
  length = -1;
  CHECK_OK(MPI_Get_processor_name(host, &length));
  CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && length == (int)strlen(host));

  double first = MPI_Wtime(), tick = MPI_Wtick(), second = first;
  CHECK(tick > 0 && tick < 0.1);
  for (long i = 0; i < 100000000 && second <= first; i++) second = MPI_Wtime();
  CHECK(second > first && second - first < 10);

  int *tag_bound = NULL, *global = NULL, *io = NULL;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_bound, &flag));
  CHECK(flag && tag_bound && *tag_bound >= 32767);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag));
  CHECK(flag && (*global == 0 || *global == 1));
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &io, &flag));
  CHECK(flag && io);

  int size, world_size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK(check_rank >= 0 && check_rank < world_size);
  MPI_Comm_size(MPI_COMM_SELF, &size);
  CHECK_EQUAL(size, 1);

  // Attributes of MPI_COMM_SELF are deleted first in MPI_Finalize, in the reverse order of their setting.
  static int value = 42;
  int keyval;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_callback, &keyval, NULL));
  CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value));
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK(keyval == MPI_KEYVAL_INVALID);
  CHECK_EQUAL(callbacks, 0);
  CHECK_OK(MPI_Pcontrol(1));
  check_end();
  CHECK_EQUAL(callbacks, 1);
  CHECK_EQUAL(finalized_in_callback, 0);
  MPI_Initialized(&flag);
  CHECK_EQUAL(flag, 1);
  MPI_Finalized(&flag);
  CHECK_EQUAL(flag, 1);
  MPI_Get_version(&version, &subversion);
  CHECK_EQUAL(version, MPI_VERSION);
  return check_failures != 0;
}
