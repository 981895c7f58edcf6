// Commits the fault its first argument names, on the rank its second one names (1 unless given).
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

static volatile int zero;
static int *volatile nowhere;

__attribute__((noinline)) static int read_nowhere(void) { return *nowhere + 1; }
__attribute__((noinline)) static int divide(int x) { return x / zero; }
__attribute__((noinline)) static int dig(int depth) {
  volatile char hole[2048];
  hole[0] = (char)depth;
  return dig(depth + 1) + hole[0];
}
static void *fault_in_thread(void *argument) { return (void *)(long)read_nowhere() + (long)argument; }
static void *exit_in_thread(void *argument) { exit(argument ? 0 : 6); }
static void *leave_thread(void *argument) { pthread_exit(argument); }
#ifdef HANDLES // A program that imports `signal` becomes processes by itself.
static void own_handler(int signal) {
  if (write(2, "handled\n", 8) == 8) _exit(40 + signal);
}
#endif
static int compare(const void *a, const void *b) { return read_nowhere() + (a == b); }

static void *receive_for_ever(void *nothing) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return nothing;
}

// Does for so long that a deadlock would have been reported what can be taken for one from outside.
static void *pass_time(void *how) {
  double end = MPI_Wtime() + 1.5;
  int found;
  if (!strcmp(how, "sleeps")) usleep(1500000);
  if (!strcmp(how, "computes")) while (MPI_Wtime() < end) zero = 0;
  if (!strcmp(how, "polls"))
    while (MPI_Wtime() < end) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  if (!strcmp(how, "reads")) {
    struct itimerspec late = {.it_value = {.tv_sec = 1, .tv_nsec = 500000000}};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    long times;
    timerfd_settime(timer, 0, &late, NULL);
    if (read(timer, &times, sizeof times) != sizeof times) exit(5);
  }
  return NULL;
}
static void *pass_time_and_send(void *how) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pass_time(how);
  MPI_Send(&rank, 1, MPI_INT, rank, 7, MPI_COMM_WORLD);
  return NULL;
}

// All wait for one rank, which is late.
static void late(const char *how, int rank, int size) {
  int value = 0;
  pthread_t thread;
  if (rank != 1) {
    if (rank == 0 && !strcmp(how, "chatters"))
      for (; value >= 0; MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD))
        MPI_Recv(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  if (!strcmp(how, "chatters")) {
    double end = MPI_Wtime() + 1.5;
    do {
      value = MPI_Wtime() < end ? 1 : -1;
      MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } while (value >= 0);
  } else if (!strncmp(how, "thread ", 7)) {
    pthread_create(&thread, NULL, pass_time_and_send, (void *)(how + 7));
    MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  } else
    pass_time((void *)how);
  for (int other = 0; other < size; other++)
    if (other != 1) MPI_Send(&value, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
}

// Exchanges messages of all lengths for ever, among neighbors and among all.
static void be_busy(int rank, int size) {
  enum { MOST = 1 << 20 };
  static char out[MOST], in[MOST];
  for (unsigned length = 1;; length = length * 5 % MOST) {
    MPI_Sendrecv(out, (int)length, MPI_CHAR, (rank + 1) % size, 1, in, MOST, MPI_CHAR, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(out, (int)length, MPI_CHAR, (int)length % size, MPI_COMM_WORLD);
    MPI_Allreduce(out, in, (int)length % 5000, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  }
}

// Changes elements of memory that all see for ever, so that whoever is killed often holds one of their locks.
static void add_up(MPI_Win win) {
  long double one = 1;
  MPI_Win_lock_all(0, win);
  for (;;) {
    MPI_Accumulate(&one, 1, MPI_LONG_DOUBLE, 0, 0, 1, MPI_LONG_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(0, win);
  }
}

__attribute__((noinline)) static void send_to_nobody(int rank)
{
  int value = 0;
  MPI_Send(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD); /* the wrong call */
  zero = value; /* so that the call is no jump */
}

static void give_up(MPI_Comm *comm, int *code, ...)
{
  zero = *code;
  MPI_Abort(*comm, *code ? 7 : 1); /* the handler's end */
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  // Some of the processes, if there are several.
  if (argc > 2 && !strcmp(argv[2], "starts") && getpid() % 2) usleep(1500000);
  int rank, size, who = argc > 2 ? atoi(argv[2]) : 1, value = 100;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef HANDLES
  if (!strcmp(what, "own handler")) signal(SIGSEGV, own_handler);
  if (!strcmp(what, "own term")) signal(SIGTERM, own_handler);
#endif
  MPI_Win win = MPI_WIN_NULL;
  long double *memory;
  if (!strcmp(what, "window")) MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ready\n"), fflush(stdout);
  if (rank == who) {
    if (!strcmp(what, "null") || !strcmp(what, "own handler")) return read_nowhere();
    if (!strcmp(what, "call")) ((void (*)(void))nowhere)();
    if (!strcmp(what, "divide")) return divide(value);
    if (!strcmp(what, "overflow")) return dig(0);
    if (!strcmp(what, "illegal")) __builtin_trap();
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "raise")) raise(SIGBUS);
    if (!strcmp(what, "exit")) exit(3);
    if (!strcmp(what, "exit 0")) exit(0);
    if (!strcmp(what, "_exit")) _exit(4);
    if (!strcmp(what, "MPI_Abort")) MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(what, "library")) { int list[] = {2, 1}; qsort(list, 2, sizeof *list, compare); }
    if (!strcmp(what, "heap")) for (size_t i = 0;; i++) ((volatile char *)malloc(16))[i * 4096] = 1;
    if (!strcmp(what, "thread")) {
      pthread_t thread;
      pthread_create(&thread, NULL, fault_in_thread, NULL);
      pthread_join(thread, NULL);
    }
    if (!strcmp(what, "exit in thread")) {
      pthread_t thread;
      pthread_create(&thread, NULL, exit_in_thread, NULL);
      pthread_join(thread, NULL);
    }
    if (!strcmp(what, "pthread_exit")) {
      pthread_t thread;
      void *result;
      pthread_create(&thread, NULL, leave_thread, &value);
      pthread_join(thread, &result);
      if (result != &value) exit(5);
    }
    if (!strcmp(what, "error abort")) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    if (!strcmp(what, "error handler")) {
      MPI_Errhandler handler;
      MPI_Comm_create_errhandler(give_up, &handler);
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    }
    if (!strncmp(what, "error", 5)) send_to_nobody(size + 5);
  }
  if (!strcmp(what, "all")) return read_nowhere();
  if (!strcmp(what, "spin")) for (;;) zero = 0;
  if (!strcmp(what, "busy")) be_busy(rank, size);
  if (!strcmp(what, "window")) add_up(win);
  if (!strcmp(what, "late") && size > 1) late(argv[2], rank, size);
  if (!strcmp(what, "deadlock of some") && rank > 0) receive_for_ever(NULL);
  if (!strcmp(what, "deadlock")) {
    printf("before\n");
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(what, "deadlock_of_threads")) {
    pthread_t thread;
    pthread_create(&thread, NULL, receive_for_ever, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    receive_for_ever(NULL);
  }
  if ((!strcmp(what, "wait") || !strcmp(what, "own term")) && rank == 0) pause();
  MPI_Finalize();
  if (!strcmp(what, "pthread_exit")) pthread_exit(NULL);
  return 0;
}
