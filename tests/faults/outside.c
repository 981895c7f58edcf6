// Ranks whose threads sleep outside of MPI: argv[1] says how, on rank 0 (or all ranks); the others wait for rank 0 in MPI.
// What begins with "late" goes on by itself and ends well. With FORKS it is a program whose ranks cannot be threads.
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FROM_NOBODY = 77, LATE_MS = 1200 };

static int rank, size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t semaphore;

static void *receive(void *nothing) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, FROM_NOBODY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return nothing;
}
static void *receive_locked(void *nothing) {
  pthread_mutex_lock(&lock);
  pthread_barrier_wait(&both);
  return receive(nothing);
}
static void *wait_for_post(void *nothing) {
  sem_wait(&semaphore);
  return nothing;
}
static void *sleep_late(void *nothing) {
  usleep(LATE_MS * 1000);
  return nothing;
}
static void *post_late(void *nothing) {
  sleep_late(NULL);
  sem_post(&semaphore);
  return nothing;
}
static void *send_late(void *nothing) {
  sleep_late(NULL);
  MPI_Send(&rank, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
  return nothing;
}
static void *compute_late(void *nothing) {
  for (double end = MPI_Wtime() + LATE_MS / 1e3; MPI_Wtime() < end;) continue;
  return nothing;
}
static void *read_late(void *pipe) {
  if (fgetc(pipe) != 'x') exit(5);
  return NULL;
}
static int query(void *extra, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static int free_nothing(void *extra) { return extra ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int cancel_nothing(void *extra, int complete) { return extra && complete ? MPI_ERR_OTHER : MPI_SUCCESS; }
static void *complete_late(void *request) {
  sleep_late(NULL);
  MPI_Grequest_complete(*(MPI_Request *)request);
  return NULL;
}
static void post(int signal) {
  if (signal) sem_post(&semaphore);
}

static void start_and_join(void *(*work)(void *), void *argument) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, argument);
  pthread_join(thread, NULL);
}

// What never ends.
static void stay(const char *how) {
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  if (!strcmp(how, "join")) start_and_join(receive, NULL);
  if (!strcmp(how, "mutex")) {
    pthread_create(&thread, NULL, receive_locked, NULL);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock);
  }
  if (!strcmp(how, "condition")) {
    pthread_create(&thread, NULL, receive, NULL);
    pthread_mutex_lock(&lock);
    for (;;) pthread_cond_wait(&changed, &lock);
  }
  if (!strcmp(how, "semaphore")) {
    // A helper that waits for work beside the rank's own thread, which waits in MPI.
    pthread_create(&thread, NULL, wait_for_post, NULL);
    receive(NULL);
  }
  if (!strcmp(how, "itself")) {
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
  }
#ifdef _OPENMP
  if (!strcmp(how, "openmp")) {
#pragma omp parallel num_threads(2)
    {
#pragma omp masked
      receive(NULL);
#pragma omp barrier
    }
  }
#endif
}

// What goes on by itself, if only after some time.
static void go_on(const char *how) {
  pthread_t thread;
  if (!strcmp(how, "thread sleeps")) start_and_join(sleep_late, NULL);
  if (!strcmp(how, "thread computes")) start_and_join(compute_late, NULL);
  if (!strcmp(how, "thread posts")) {
    pthread_create(&thread, NULL, post_late, NULL);
    sem_wait(&semaphore);
    pthread_join(thread, NULL);
  }
  if (!strcmp(how, "thread sends")) {
    int value;
    pthread_create(&thread, NULL, send_late, NULL);
    MPI_Recv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  }
  if (!strcmp(how, "condition")) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1;
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&changed, &lock, &end) == 0) continue;
    pthread_mutex_unlock(&lock);
  }
  if (!strcmp(how, "pipe")) {
    FILE *other = popen("sleep 1; echo x", "r");
    if (!other) exit(6);
    start_and_join(read_late, other);
    if (pclose(other)) exit(7);
  }
  if (!strcmp(how, "request")) {
    MPI_Request request;
    MPI_Grequest_start(query, free_nothing, cancel_nothing, NULL, &request);
    pthread_create(&thread, NULL, complete_late, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  }
#ifdef HANDLES // A program that imports `signal` becomes processes by itself.
  if (!strcmp(how, "signal")) {
    signal(SIGALRM, post);
    alarm(1);
    while (sem_wait(&semaphore)) continue;
  }
#endif
}

#ifdef FORKS
// A lock in memory that processes share: rank 0 waits for it, and who has it is a process that is no rank.
static void wait_for_stranger(void) {
  pthread_mutex_t *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int *has_lock = mmap(NULL, sizeof *has_lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(shared, &attributes);
  pid_t child = fork();
  if (child == 0) {
    pthread_mutex_lock(shared);
    *(volatile int *)has_lock = 1;
    usleep(LATE_MS * 1000);
    pthread_mutex_unlock(shared);
    _exit(0);
  }
  while (!*(volatile int *)has_lock) usleep(1000);
  pthread_mutex_lock(shared);
  pthread_mutex_unlock(shared);
}
#else
static void wait_for_stranger(void) { exit(8); }
#endif

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int provided, value = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sem_init(&semaphore, 0, 0);
  int takes_part = rank == 0 || (argc > 2 && !strcmp(argv[2], "all"));
  if (takes_part && !strcmp(how, "late stranger")) wait_for_stranger();
  else if (takes_part && !strncmp(how, "late ", 5)) go_on(how + 5);
  else if (takes_part) stay(how);
  if (rank == 0)
    for (int other = 1; other < size; other++) MPI_Send(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
  else
    MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
