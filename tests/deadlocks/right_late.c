/* Programs that only look as if they could not go on: rank 0 is late, for a reason that has nothing to do with MPI, while all
 * others wait for it. Nothing may be said of them. See wrong_messages.c for the comments. */
#define _GNU_SOURCE
#include "cases.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Much longer than it takes to find a deadlock. */
#define LATE_MS 700
static const struct timespec late = {LATE_MS / 1000, LATE_MS % 1000 * 1000000L};

static void nap(void) { nanosleep(&late, NULL); }

static void release(void)
{
    for (int to = 1; rank == 0 && to < size; to++) MPI_Send(one, 1, MPI_INT, to, 0, W);
    if (rank > 0) MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

static pthread_t thread;
static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static volatile int flag;
static MPI_Request general;

static void start(void *(*run)(void *)) { if (pthread_create(&thread, NULL, run, NULL)) exit(3); }
static void *naps(void *unused) { nap(); return unused; }
static void *writes(void *unused) { nap(); if (write(ends[1], "x", 1) != 1) exit(4); return unused; }
static void *signals(void *unused)
{
    nap();
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return unused;
}
static void *holds(void *unused) { pthread_mutex_lock(&mutex); flag = 1; nap(); pthread_mutex_unlock(&mutex); return unused; }
static void *posts(void *unused) { nap(); sem_post(&semaphore); return unused; }
static void *raises_flag(void *unused) { nap(); flag = 1; return unused; }
static void *completes(void *unused) { nap(); MPI_Grequest_complete(general); return unused; }
static void *computes_long(void *unused)
{
    double end = MPI_Wtime() + LATE_MS / 1e3;
    while (MPI_Wtime() < end) zero = 0;
    return unused;
}
static void read_one(int file) { char byte; if (read(file, &byte, 1) != 1) exit(5); }
static struct timespec after(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += LATE_MS * 1000000L;
    now.tv_sec += now.tv_nsec / 1000000000L;
    now.tv_nsec %= 1000000000L;
    return now;
}

#define LATE(name, ...) static void name(void) { if (rank == 0) { __VA_ARGS__ } release(); }

/* case computes ranks=3 */
LATE(computes, computes_long(NULL);)
/* case sleeps_in_usleep ranks=3 */
LATE(sleeps_in_usleep, usleep(LATE_MS * 1000);)
/* case sleeps_in_nanosleep ranks=3 */
LATE(sleeps_in_nanosleep, nap();)
/* case sleeps_until_a_time ranks=3 */
LATE(sleeps_until_a_time, struct timespec end = after(); clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &end, NULL);)
/* case reads_a_pipe ranks=3 */
LATE(reads_a_pipe, if (pipe(ends)) exit(2); start(writes); read_one(ends[0]); pthread_join(thread, NULL);)
/* case reads_a_socket ranks=3 */
LATE(reads_a_socket, if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(2); start(writes); read_one(ends[0]);
     pthread_join(thread, NULL);)
/* case polls_a_pipe ranks=3 */
LATE(polls_a_pipe, if (pipe(ends)) exit(2); start(writes); struct pollfd one_end = {ends[0], POLLIN, 0};
     if (poll(&one_end, 1, -1) != 1) exit(6); pthread_join(thread, NULL);)
/* case polls_nothing ranks=3 */
LATE(polls_nothing, poll(NULL, 0, LATE_MS);)
/* case selects_nothing ranks=3 */
LATE(selects_nothing, struct timeval time = {0, LATE_MS * 1000L}; select(0, NULL, NULL, NULL, &time);)
/* case reads_a_timer ranks=3 */
LATE(reads_a_timer, struct itimerspec once = {.it_value = late}; int timer = timerfd_create(CLOCK_MONOTONIC, 0); uint64_t times;
     timerfd_settime(timer, 0, &once, NULL); if (read(timer, &times, 8) != 8) exit(5);)
/* case reads_an_event ranks=3 */
static int event;
static void *tells(void *unused) { uint64_t word = 1; nap(); if (write(event, &word, 8) != 8) exit(4); return unused; }
LATE(reads_an_event, uint64_t word; event = eventfd(0, 0); start(tells); if (read(event, &word, 8) != 8) exit(5);
     pthread_join(thread, NULL);)
/* case joins_a_sleeping_thread ranks=3 */
LATE(joins_a_sleeping_thread, start(naps); pthread_join(thread, NULL);)
/* case joins_a_computing_thread ranks=3 */
LATE(joins_a_computing_thread, start(computes_long); pthread_join(thread, NULL);)
/* case waits_for_a_condition ranks=3 */
LATE(waits_for_a_condition, start(signals); pthread_mutex_lock(&mutex); while (!flag) pthread_cond_wait(&condition, &mutex);
     pthread_mutex_unlock(&mutex); pthread_join(thread, NULL);)
/* case waits_for_a_condition_some_time ranks=3 */
LATE(waits_for_a_condition_some_time, struct timespec end = after(); pthread_mutex_lock(&mutex);
     while (pthread_cond_timedwait(&condition, &mutex, &end) != ETIMEDOUT) zero = 0; pthread_mutex_unlock(&mutex);)
/* case waits_for_a_mutex ranks=3 */
LATE(waits_for_a_mutex, start(holds); while (!flag) sched_yield(); pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex);
     pthread_join(thread, NULL);)
/* case waits_for_a_semaphore ranks=3 */
LATE(waits_for_a_semaphore, sem_init(&semaphore, 0, 0); start(posts); while (sem_wait(&semaphore)) zero = 0;
     pthread_join(thread, NULL);)
/* case waits_for_a_semaphore_some_time ranks=3 */
LATE(waits_for_a_semaphore_some_time, struct timespec end = after(); sem_init(&semaphore, 0, 0);
     while (sem_timedwait(&semaphore, &end) == 0 || errno == EINTR) zero = 0;)
/* case looks_at_a_flag ranks=3 */
LATE(looks_at_a_flag, start(raises_flag); while (!flag) zero = 0; pthread_join(thread, NULL);)
/* case yields_until_a_flag ranks=3 */
LATE(yields_until_a_flag, start(raises_flag); while (!flag) sched_yield(); pthread_join(thread, NULL);)
/* case runs_a_command ranks=3 */
LATE(runs_a_command, if (system("sleep 0.7")) exit(7);)
/* case reads_from_a_command ranks=3 */
LATE(reads_from_a_command, FILE *from = popen("sleep 0.7; echo x", "r"); if (!from || fgetc(from) != 'x') exit(7); pclose(from);)
/* case waits_for_a_child ranks=3 */
extern char **environ;
LATE(waits_for_a_child, int status; pid_t child; char *words[] = {"sleep", "0.7", NULL};
     if (posix_spawnp(&child, "sleep", NULL, NULL, words, environ)) exit(7);
     while (waitpid(child, &status, 0) != child) zero = 0;)
/* case waits_for_a_signal_some_time ranks=3 */
LATE(waits_for_a_signal_some_time, sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR2); sigtimedwait(&set, NULL, &late);)

/* case generalized_request_of_a_thread ranks=3 */
static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int free_it(void *state) { (void)state; return MPI_SUCCESS; }
static int cancel(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }
LATE(generalized_request_of_a_thread, MPI_Grequest_start(query, free_it, cancel, NULL, &general);
     MPI_Request mine = general; start(completes); MPI_Wait(&mine, NONE); pthread_join(thread, NULL);)

/* case tests_until_it_comes ranks=3 */
static void tests_until_it_comes(void)
{
    int done = 0;
    MPI_Request request;
    if (rank == 0) nap();
    else {
        MPI_Irecv(one, 1, MPI_INT, 0, 0, W, &request);
        while (!done) MPI_Test(&request, &done, NONE);
        return;
    }
    release();
}
/* case probes_until_it_comes ranks=3 */
static void probes_until_it_comes(void)
{
    int there = 0;
    if (rank == 0) nap();
    while (rank > 0 && !there) MPI_Iprobe(MPI_ANY_SOURCE, 0, W, &there, NONE);
    release();
}
/* case timed_receive ranks=2 */
static void timed_receive(void)
{
    int done = 0;
    MPI_Request request;
    double end = MPI_Wtime() + LATE_MS / 1e3;
    MPI_Irecv(one, 1, MPI_INT, 1 - rank, 99, W, &request);
    while (!done && MPI_Wtime() < end) {
        MPI_Test(&request, &done, NONE);
        usleep(20000);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, NONE);
}

#define CASE(name) {#name, name}
static const struct the_case all[] = {
    CASE(computes), CASE(sleeps_in_usleep), CASE(sleeps_in_nanosleep), CASE(sleeps_until_a_time), CASE(reads_a_pipe),
    CASE(reads_a_socket), CASE(polls_a_pipe), CASE(polls_nothing), CASE(selects_nothing), CASE(reads_a_timer),
    CASE(reads_an_event), CASE(joins_a_sleeping_thread), CASE(joins_a_computing_thread), CASE(waits_for_a_condition),
    CASE(waits_for_a_condition_some_time), CASE(waits_for_a_mutex), CASE(waits_for_a_semaphore),
    CASE(waits_for_a_semaphore_some_time), CASE(looks_at_a_flag), CASE(yields_until_a_flag), CASE(runs_a_command),
    CASE(reads_from_a_command), CASE(waits_for_a_child), CASE(waits_for_a_signal_some_time),
    CASE(generalized_request_of_a_thread), CASE(tests_until_it_comes), CASE(probes_until_it_comes), CASE(timed_receive),
    {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
