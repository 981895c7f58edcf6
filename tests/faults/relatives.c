// Jobs that start jobs or connect to others, of which one fails: what it is to do comes first on the command line.
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *what, const char *wanted) { return strcmp(what, wanted) == 0; }

// Makes a window of both jobs' ranks, the parents first, in memory of its own or of the program's.
static MPI_Win common_window(MPI_Comm other, int is_child, int flavor) {
  static int word;
  MPI_Comm all;
  MPI_Win win;
  void *base;
  MPI_Intercomm_merge(other, is_child, &all);
  if (flavor == MPI_WIN_FLAVOR_ALLOCATE) MPI_Win_allocate(4, 4, MPI_INFO_NULL, all, &base, &win);
  else MPI_Win_create(&word, 4, 4, MPI_INFO_NULL, all, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_free(&all);
  return win;
}

// The last child has locked the memory of two of the parents, one for itself and one as others may, when it is killed.
static void hold(MPI_Comm parent, int rank) {
  for (int flavor = MPI_WIN_FLAVOR_CREATE; flavor <= MPI_WIN_FLAVOR_ALLOCATE; flavor++) {
    MPI_Win win = common_window(parent, 1, flavor);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  }
  MPI_Barrier(parent);
  if (rank == 1) raise(SIGKILL);
  for (;;) pause();
}

static int child(const char *what, MPI_Comm parent) {
  int rank, number = (int)getpid();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 0, 0, parent);
  MPI_Barrier(parent);
  if (is(what, "locked")) hold(parent, rank);
  if (is(what, "answers")) {
    MPI_Recv(&number, 1, MPI_INT, rank, 2, parent, MPI_STATUS_IGNORE);
    number += 100;
    MPI_Send(&number, 1, MPI_INT, rank, 3, parent);
    int one = 1;
    MPI_Allreduce(&one, &number, 1, MPI_INT, MPI_SUM, parent);
  }
  if (is(what, "crash") && rank == 1) abort();
  if (is(what, "killed") && rank == 1) raise(SIGKILL);
  if (is(what, "crash") || is(what, "killed") || is(what, "parent fails") || is(what, "wait"))
    MPI_Recv(&number, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&parent);
  if (is(what, "parted")) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Finalize();
  return is(what, "late code") ? 5 : 0;
}

static int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}

// One of the children is killed, and the parents go on, with each other and with children that they have besides.
static void survive(const char *program) {
  MPI_Comm children, others;
  char *killed[] = {"killed", NULL}, *alive[] = {"answers", NULL};
  int rank, size, number, got[4] = {-1, -1, -1, -1}, one = 1, sum = 0;
  MPI_Request posted[3], in_vain[2];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_spawn(program, alive, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
  if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 0, 0, others, MPI_STATUS_IGNORE);
  MPI_Barrier(others);
  MPI_Comm_spawn(program, killed, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
  // What the loss of the children must not end, and what it must.
  MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &posted[0]);
  MPI_Irecv(&got[1], 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, &posted[1]);
  if (rank < 2) MPI_Irecv(&got[2], 1, MPI_INT, MPI_ANY_SOURCE, 3, others, &posted[2]);
  MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, children, &in_vain[0]);
  MPI_Irecv(&number, 1, MPI_INT, 1, 1, children, &in_vain[1]);
  MPI_Barrier(children);
  int good = class_of(MPI_Wait(&in_vain[0], MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED;
  good &= class_of(MPI_Wait(&in_vain[1], MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED;
  // The children of one process are lost together; another may end a moment later.
  while (MPI_Send(&one, 1, MPI_INT, 1, 1, children) == MPI_SUCCESS) sched_yield();
  good &= class_of(MPI_Recv(&number, 1, MPI_INT, 1, 1, children, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED;
  good &= class_of(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, children, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED;
  good &= class_of(MPI_Probe(1, 1, children, MPI_STATUS_IGNORE)) == MPI_ERR_PROC_ABORTED;
  good &= class_of(MPI_Barrier(children)) == MPI_ERR_PROC_ABORTED;
  MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 8, MPI_COMM_WORLD);
  MPI_Send(&rank, 1, MPI_INT, (rank + size - 1) % size, 9, MPI_COMM_WORLD);
  if (rank < 2) MPI_Send(&rank, 1, MPI_INT, rank, 2, others);
  MPI_Waitall(rank < 2 ? 3 : 2, posted, MPI_STATUSES_IGNORE);
  good &= got[0] == (rank + 1) % size && got[1] == got[0] && (rank >= 2 || got[2] == rank + 100);
  MPI_Recv(&got[3], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, others);
  good &= sum == 2;
  MPI_Allreduce(&good, &sum, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Comm_free(&children);
  MPI_Comm_disconnect(&others);
  if (rank == 0 && sum) printf("the parents go on\n");
}

// A child is killed that has locked the parents' memory: who wants that hears so, and does not wait for ever.
static void outlive_locks(const char *program) {
  MPI_Comm children;
  MPI_Win wins[2];
  char *locked[] = {"locked", NULL};
  int rank, number, good = 1, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_spawn(program, locked, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(children, MPI_ERRORS_RETURN);
  if (rank == 0) MPI_Recv(&number, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE);
  MPI_Barrier(children);
  for (int i = 0; i < 2; i++) wins[i] = common_window(children, 0, i == 0 ? MPI_WIN_FLAVOR_CREATE : MPI_WIN_FLAVOR_ALLOCATE);
  MPI_Barrier(children);
  for (int i = 0; i < 2; i++) {
    good &= class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, wins[i])) == MPI_ERR_PROC_ABORTED;
    good &= class_of(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, wins[i])) == MPI_ERR_PROC_ABORTED;
    good &= class_of(MPI_Win_lock_all(0, wins[i])) == MPI_ERR_PROC_ABORTED;
  }
  MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("the parents go on\n");
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
  // Nobody will ever send, and nobody else is left who could.
  if (is(what, "stuck")) MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
  else if (is(argv[1], "survives"))
    survive(argv[0]);
  else if (is(argv[1], "outlives locks"))
    outlive_locks(argv[0]);
  else
    start(argv[0], argv[1]);
  MPI_Finalize();
  return 0;
}
