// Threads of a rank make, use and end sessions at the same time, before and beside the world model.
// weft-test: cflags=-pthread
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

static void *run(void *argument) {
  int expected = *(int *)argument;
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Session session, second;
    MPI_Group group;
    int size = -1;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session)) return "init";
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second)) return "second init";
    if (session == second) return "one handle for two sessions";
    if (MPI_Group_from_session_pset(session, i % 2 ? "mpi://WORLD" : "mpi://SELF", &group)) return "group";
    if (MPI_Session_finalize(&second)) return "second finalize";
    if (MPI_Group_size(group, &size)) return "size";
    if (i % 2 == 0 && size != 1) return "size of mpi://SELF";
    if (i % 2 && expected && size != expected) return "size of mpi://WORLD";
    if (MPI_Group_free(&group)) return "free";
    if (MPI_Session_finalize(&session)) return "finalize";
  }
  return NULL;
}

static void run_all(int expected) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, run, &expected), 0);
  for (int i = 0; i < THREADS; i++) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    if (failed) fprintf(stderr, "%s\n", (char *)failed);
    CHECK(!failed);
  }
}

int main(int argc, char **argv) {
  int size;
  run_all(0);
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run_all(size);
  int failed = check_end();
  run_all(size);
  return failed || check_failures;
}
