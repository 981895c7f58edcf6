/* Threads that wait outside of MPI for threads that wait in it. See wrong_messages.c. */
#include "cases.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static pthread_t thread;

static void *receive(void *nothing)
{
    MPI_Recv(one, 1, MPI_INT, 1, 5, W, NONE);
    return nothing;
}

static void *receive_locked(void *nothing)
{
    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&both);
    return receive(nothing);
}

/* case joins_a_thread_that_receives ranks=2 */
static void joins_a_thread_that_receives(void)
{
    if (rank == 1) return;
    pthread_create(&thread, NULL, receive, NULL);
    pthread_join(thread, NULL);
}

/* case lock_of_a_thread_that_receives ranks=2 */
static void lock_of_a_thread_that_receives(void)
{
    if (rank == 1) return;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, receive_locked, NULL);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&lock);
}

/* case condition_that_nobody_signals ranks=3 */
static void condition_that_nobody_signals(void)
{
    if (rank == 1) MPI_Recv(one, 1, MPI_INT, 0, 5, W, NONE);
    pthread_mutex_lock(&lock);
    while (rank == 0) pthread_cond_wait(&changed, &lock);
}

/* case lock_of_ones_own ranks=2 */
static void lock_of_ones_own(void)
{
    pthread_mutex_lock(&lock);
    if (rank == 1) pthread_mutex_lock(&lock);
}

/* case semaphore_that_nobody_posts ranks=2 */
static void semaphore_that_nobody_posts(void)
{
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    if (rank == 0) sem_wait(&semaphore);
}

/* case barrier_of_threads_without_one ranks=2 */
static void barrier_of_threads_without_one(void)
{
    if (rank == 1) return;
    pthread_barrier_init(&both, NULL, 3);
    pthread_create(&thread, NULL, receive_locked, NULL);
    pthread_barrier_wait(&both);
}

int main(int argc, char **argv)
{
    static const struct the_case all[] = {
        {"joins_a_thread_that_receives", joins_a_thread_that_receives},
        {"lock_of_a_thread_that_receives", lock_of_a_thread_that_receives},
        {"condition_that_nobody_signals", condition_that_nobody_signals},
        {"lock_of_ones_own", lock_of_ones_own},
        {"semaphore_that_nobody_posts", semaphore_that_nobody_posts},
        {"barrier_of_threads_without_one", barrier_of_threads_without_one},
        {0, 0},
    };
    return run_case(all, argc, argv);
}
