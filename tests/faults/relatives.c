// Jobs that start jobs or connect to others, of which one fails: what it is to do comes first on the command line.
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what, const char *wanted) { return strcmp(what, wanted) == 0; }

static int child(const char *what, MPI_Comm parent) {
  int rank, number = (int)getpid();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 0, 0, parent);
  MPI_Barrier(parent);
  if (is(what, "crash") && rank == 1) abort();
  if (is(what, "killed") && rank == 1) raise(SIGKILL);
  if (is(what, "crash") || is(what, "killed") || is(what, "parent fails") || is(what, "wait"))
    MPI_Recv(&number, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&parent);
  if (is(what, "parted")) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Finalize();
  return is(what, "late code") ? 5 : 0;
}

static void start(const char *program, const char *what) {
  MPI_Comm children;
  int rank, number;
  char word[32], *words[] = {word, NULL};
  snprintf(word, sizeof word, "%s", what);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
  MPI_Barrier(children);
  if (rank == 0 && is(what, "wait")) printf("ready\n"), fflush(stdout);
  if (is(what, "parent fails") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (is(what, "crash") || is(what, "killed") || is(what, "parent fails") || is(what, "wait"))
    MPI_Recv(&number, 1, MPI_INT, 1, 1, children, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&children);
  // The others fail while this one is there, and it does not mind.
  if (rank == 0 && is(what, "parted"))
    while (kill(number, 0) == 0) sched_yield();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("the parents go on\n");
}

// Two jobs that nobody has told of each other.
static void meet(const char *service, int serves) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm other;
  int rank, sum = 0, one = 1, mine, others;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && serves) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
  } else if (rank == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS) sched_yield();
  }
  if (serves)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
  MPI_Comm_size(other, &mine);
  MPI_Comm_remote_size(other, &others);
  MPI_Comm_disconnect(&other);
  if (rank == 0) printf("%d met %d: %d\n", mine, others, sum);
}

int main(int argc, char **argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(argv[1], parent);
  if (is(argv[1], "serve") || is(argv[1], "connect"))
    meet(argv[2], is(argv[1], "serve"));
  else
    start(argv[0], argv[1]);
  MPI_Finalize();
  return 0;
}
