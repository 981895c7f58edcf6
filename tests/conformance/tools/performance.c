// Performance variables: each has a name, a class and a datatype that fit each other, and says what may be done with it; sessions
// and their handles do not disturb each other.
// weft-test: faults=yes
#include "check.h"

typedef unsigned long long value;
static MPI_T_pvar_session session, other;

static int is_datatype_of(int class, MPI_Datatype type) {
  switch (class) {
  case MPI_T_PVAR_CLASS_STATE: return type == MPI_INT;
  case MPI_T_PVAR_CLASS_PERCENTAGE: return type == MPI_DOUBLE;
  case MPI_T_PVAR_CLASS_COUNTER: return type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG;
  default: return type == MPI_UNSIGNED || type == MPI_UNSIGNED_LONG || type == MPI_UNSIGNED_LONG_LONG || type == MPI_DOUBLE;
  }
}

static void use(int index, int bind, int class, int readonly, int continuous, int atomic) {
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  value v = 77, w = 5;
  int count = -1, is_sum = class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE || class == MPI_T_PVAR_CLASS_TIMER;
  if (bind != MPI_T_BIND_NO_OBJECT) {
    CHECK_CLASS(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_T_ERR_INVALID);
    void *nothing = NULL;
    CHECK_CLASS(MPI_T_pvar_handle_alloc(session, index, &nothing, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
  }
  if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) return;
  CHECK_OK(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count));
  CHECK(handle != MPI_T_PVAR_HANDLE_NULL && count == 1);
  CHECK_OK(MPI_T_pvar_read(session, handle, &v));
  if (is_sum) CHECK_EQUAL(v, 0);
  CHECK_CLASS(MPI_T_pvar_start(session, handle), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
  CHECK_CLASS(MPI_T_pvar_stop(session, handle), continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS);
  CHECK_CLASS(MPI_T_pvar_write(session, handle, &w), readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS);
  if (!readonly) {
    CHECK_OK(MPI_T_pvar_read(session, handle, &v));
    CHECK_EQUAL(v, 5);
    CHECK_OK(MPI_T_pvar_write(session, handle, &w));
  }
  CHECK_CLASS(MPI_T_pvar_readreset(session, handle, &v), atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC);
  if (atomic) CHECK_EQUAL(v, 5);
  CHECK_CLASS(MPI_T_pvar_reset(session, handle), readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS);
  CHECK_OK(MPI_T_pvar_read(session, handle, &v));
  if (is_sum) CHECK_EQUAL(v, 0);
  // A handle is of its session.
  MPI_T_pvar_handle copy = handle;
  CHECK_CLASS(MPI_T_pvar_read(other, handle, &v), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_start(other, handle), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_handle_free(other, &copy), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
  CHECK_OK(MPI_T_pvar_handle_free(session, &handle));
  CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  CHECK_CLASS(MPI_T_pvar_read(session, copy, &v), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_handle_free(session, &copy), MPI_T_ERR_INVALID_HANDLE);
}

static void all_handles(void) {
  MPI_T_pvar_handle handle[3];
  int index, level, count;
  value v;
  CHECK_OK(MPI_T_pvar_get_index("parks", MPI_T_PVAR_CLASS_COUNTER, &index));
  CHECK_OK(MPI_T_pvar_get_index("posted_queue_length", MPI_T_PVAR_CLASS_LEVEL, &level));
  CHECK_OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle[0], &count));
  CHECK_OK(MPI_T_pvar_handle_alloc(session, level, NULL, &handle[1], &count));
  CHECK_OK(MPI_T_pvar_handle_alloc(other, index, NULL, &handle[2], &count));
  v = 9;
  CHECK_OK(MPI_T_pvar_write(session, handle[0], &v));
  CHECK_OK(MPI_T_pvar_write(other, handle[2], &v));
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_read(session, handle[0], &v));
  CHECK_EQUAL(v, 0);
  CHECK_OK(MPI_T_pvar_read(other, handle[2], &v));
  CHECK_EQUAL(v, 9);
  CHECK_CLASS(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &v), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, &v), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, &v), MPI_T_ERR_INVALID_HANDLE);
}

int main(int argc, char **argv) {
  int provided, number = -1, index, count;
  MPI_T_pvar_handle handle;
  check_init(&argc, &argv);
  CHECK_CLASS(MPI_T_pvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_CLASS(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_pvar_get_num(&number));
  CHECK(number > 10);
  CHECK_CLASS(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
  CHECK_OK(MPI_T_pvar_session_create(&session));
  CHECK_OK(MPI_T_pvar_session_create(&other));
  CHECK(session != other && session != MPI_T_PVAR_SESSION_NULL);
  for (int i = 0; i < number; i++) {
    char name[100], desc[300];
    int length = 100, room = 300, verbosity = -1, class = -1, bind = -1, readonly = -1, continuous = -1, atomic = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum words = (MPI_T_enum)1;
    CHECK_OK(MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &words, desc, &room, &bind, &readonly, &continuous, &atomic));
    CHECK(length == (int)strlen(name) + 1 && length > 1 && room == (int)strlen(desc) + 1 && room > 1);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(is_datatype_of(class, type) && words == MPI_T_ENUM_NULL);
    CHECK(!(readonly & ~1) && !(continuous & ~1) && !(atomic & ~1) && !(readonly && atomic));
    CHECK_OK(MPI_T_pvar_get_index(name, class, &index));
    CHECK_EQUAL(index, i);
    CHECK_CLASS(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_GENERIC, &index), MPI_T_ERR_INVALID_NAME);
    CHECK_OK(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    use(i, bind, class, readonly, continuous, atomic);
  }
  CHECK_CLASS(MPI_T_pvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_LEVEL, &index), MPI_T_ERR_INVALID_NAME);
  CHECK_CLASS(MPI_T_pvar_handle_alloc(session, -1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
  all_handles();
  MPI_T_pvar_session gone = other;
  CHECK_OK(MPI_T_pvar_session_free(&other));
  CHECK(other == MPI_T_PVAR_SESSION_NULL);
  CHECK_CLASS(MPI_T_pvar_session_free(&gone), MPI_T_ERR_INVALID_SESSION);
  CHECK_CLASS(MPI_T_pvar_handle_alloc(gone, 0, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION);
  CHECK_CLASS(MPI_T_pvar_start(gone, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  // What is left of a session ends with the interface.
  CHECK_OK(MPI_T_finalize());
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_CLASS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
  CHECK_OK(MPI_T_finalize());
  return check_end();
}
