// What may be called at any time: before the library is initialised, between, and after it is finalised; by several
// threads, too.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

static void on_session(MPI_Session *session, int *code, ...) {}

static void *everything(void *unused) {
  int flag, number, class, code, length;
  char text[MPI_MAX_LIBRARY_VERSION_STRING], error[MPI_MAX_ERROR_STRING], key[MPI_MAX_INFO_KEY];
  CHECK_EQUAL(MPI_Initialized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Finalized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Get_version(&number, &code), MPI_SUCCESS);
  CHECK_EQUAL(number, MPI_VERSION);
  CHECK_EQUAL(MPI_Get_library_version(text, &length), MPI_SUCCESS);
  CHECK_EQUAL(strlen(text), length);
  CHECK_EQUAL(MPI_Abi_get_version(&number, &code), MPI_SUCCESS);
  CHECK_EQUAL(number, MPI_ABI_VERSION);
  MPI_Info info, other;
  CHECK_EQUAL(MPI_Abi_get_info(&info), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_get_nkeys(info, &number), MPI_SUCCESS);
  CHECK(number >= 3);
  CHECK_EQUAL(MPI_Info_free(&info), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_create_env(0, NULL, &info), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_free(&info), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_create(&info), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_set(info, "a", "1"), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_set(info, "b", "2"), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_delete(info, "a"), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_get_nthkey(info, 0, key), MPI_SUCCESS);
  CHECK(strcmp(key, "b") == 0);
  length = sizeof text;
  CHECK_EQUAL(MPI_Info_get_string(info, "b", &length, text, &flag), MPI_SUCCESS);
  CHECK(flag && strcmp(text, "2") == 0);
  CHECK(MPI_Info_f2c(MPI_Info_c2f(info)) == info);
  CHECK_EQUAL(MPI_Info_dup(info, &other), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_free(&other), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Info_free(&info), MPI_SUCCESS);
  MPI_Errhandler handler;
  CHECK_EQUAL(MPI_Session_create_errhandler(on_session, &handler), MPI_SUCCESS);
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)) == handler);
  CHECK_EQUAL(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Error_class(MPI_ERR_TAG, &class), MPI_SUCCESS);
  CHECK_EQUAL(class, MPI_ERR_TAG);
  CHECK_EQUAL(MPI_Error_string(MPI_ERR_TAG, error, &length), MPI_SUCCESS);
  CHECK_EQUAL(strlen(error), length);
  CHECK_EQUAL(MPI_Add_error_class(&class), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Add_error_code(class, &code), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Add_error_string(code, "mine"), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Error_string(code, error, &length), MPI_SUCCESS);
  CHECK(strcmp(error, "mine") == 0);
  CHECK_EQUAL(MPI_Error_class(code, &number), MPI_SUCCESS);
  CHECK_EQUAL(number, class);
  CHECK_EQUAL(MPI_Remove_error_string(code), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Remove_error_code(code), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Remove_error_class(class), MPI_SUCCESS);
  MPI_Session session;
  CHECK_EQUAL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), MPI_SUCCESS);
  CHECK_EQUAL(MPI_Session_finalize(&session), MPI_SUCCESS);
  return NULL;
}

static void by_all(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, everything, NULL);
  everything(NULL);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}

// The thread that initialises is the main thread, whichever it is.
static void *initialise(void *levels) {
  int provided = -1, flag = 0;
  CHECK_EQUAL(MPI_Init_thread(NULL, NULL, *(int *)levels, &provided), MPI_SUCCESS);
  CHECK(provided >= *(int *)levels);
  CHECK_EQUAL(MPI_Query_thread(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, provided);
  CHECK_EQUAL(MPI_Is_thread_main(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 1);
  return NULL;
}

static void *finish(void *unused) { return MPI_Finalize() ? "failed" : NULL; }

int main(int argc, char **argv) {
  by_all();
  int level = MPI_THREAD_FUNNELED, flag = -1, size, world_size;
  pthread_t thread;
  pthread_create(&thread, NULL, initialise, &level);
  pthread_join(thread, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  CHECK_OK(MPI_Is_thread_main(&flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  CHECK_OK(MPI_Allreduce(&(int){1}, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(size, world_size);
  by_all();
  pthread_create(&thread, NULL, finish, NULL);
  void *failed = NULL;
  pthread_join(thread, &failed);
  CHECK(!failed);
  by_all();
  CHECK_EQUAL(MPI_Initialized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 1);
  CHECK_EQUAL(MPI_Finalized(&flag), MPI_SUCCESS);
  CHECK_EQUAL(flag, 1);
  return check_failures != 0;
}
