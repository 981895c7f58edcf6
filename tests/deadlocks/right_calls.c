/* Programs that only look as if they could not go on: all wait in one MPI call or another for a rank that sleeps, or for
 * something between ranks that MPI does not know. Nothing may be said of them. See wrong_messages.c for the comments. */
#define _GNU_SOURCE
#include "cases.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LATE_MS 700

static void nap(void)
{
    struct timespec late = {0, LATE_MS * 1000000L};
    nanosleep(&late, NULL);
}
static void nap_of(int who) { if (rank == who) nap(); }

static pthread_t thread;
static MPI_Request shared_request;

/* case late_to_a_barrier ranks=4 */
static void late_to_a_barrier(void) { nap_of(2); MPI_Barrier(W); }

/* case late_to_an_allreduce ranks=5 */
static void late_to_an_allreduce(void) { nap_of(4); MPI_Allreduce(one, two, 1, MPI_INT, MPI_SUM, W); }

/* case late_root ranks=3 */
static void late_root(void) { nap_of(0); MPI_Bcast(large, 1 << 18, MPI_INT, 0, W); }

/* case late_to_a_nonblocking_barrier ranks=3 */
static void late_to_a_nonblocking_barrier(void)
{
    MPI_Request request;
    nap_of(1);
    MPI_Ibarrier(W, &request);
    MPI_Wait(&request, NONE);
}

/* case late_to_finalize ranks=3 */
static void late_to_finalize(void) { nap_of(1); }

/* case late_receiver ranks=2 */
static void late_receiver(void)
{
    nap_of(1);
    if (rank == 0) MPI_Ssend(one, 1, MPI_INT, 1, 0, W);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case late_receiver_of_much ranks=2 */
static void late_receiver_of_much(void)
{
    nap_of(1);
    if (rank == 0) MPI_Send(large, 1 << 18, MPI_INT, 1, 0, W);
    else MPI_Recv(large, 1 << 18, MPI_INT, 0, 0, W, NONE);
}

/* case one_of_two_never_comes ranks=2 */
static void one_of_two_never_comes(void)
{
    MPI_Request request[2];
    int index;
    if (rank == 0) {
        for (int i = 0; i < 2; i++) MPI_Irecv(one + i, 1, MPI_INT, 1, i, W, &request[i]);
        MPI_Waitany(2, request, &index, NONE);
        MPI_Cancel(&request[1 - index]);
        MPI_Wait(&request[1 - index], NONE);
    } else {
        nap();
        MPI_Send(one, 1, MPI_INT, 0, 1, W);
    }
}

/* case late_start ranks=2 */
static void late_start(void)
{
    MPI_Request request;
    if (rank) MPI_Send_init(one, 1, MPI_INT, 0, 0, W, &request);
    else MPI_Recv_init(one, 1, MPI_INT, 1, 0, W, &request);
    nap_of(1);
    MPI_Start(&request);
    MPI_Wait(&request, NONE);
    MPI_Request_free(&request);
}

/* case thread_makes_partition_ready ranks=2 */
static void *makes_ready(void *unused) { nap(); MPI_Pready(0, shared_request); return unused; }
static void thread_makes_partition_ready(void)
{
    if (rank == 0) MPI_Psend_init(one, 1, 1, MPI_INT, 1, 9, W, MPI_INFO_NULL, &shared_request);
    else MPI_Precv_init(one, 1, 1, MPI_INT, 0, 9, W, MPI_INFO_NULL, &shared_request);
    MPI_Start(&shared_request);
    MPI_Request mine = shared_request;
    if (rank == 0) pthread_create(&thread, NULL, makes_ready, NULL);
    MPI_Wait(&mine, NONE);
    if (rank == 0) pthread_join(thread, NULL);
    MPI_Request_free(&mine);
}

/* case late_probe ranks=2 */
static void late_probe(void)
{
    nap_of(0);
    if (rank == 0) MPI_Send(one, 1, MPI_INT, 1, 0, W);
    else {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, W, NONE);
        MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
    }
}

/* case thread_receives ranks=2 */
static void *receives(void *unused) { MPI_Recv(two, 1, MPI_INT, 1 - rank, 5, W, NONE); return unused; }
static void thread_receives(void)
{
    pthread_create(&thread, NULL, receives, NULL);
    nap();
    MPI_Send(one, 1, MPI_INT, 1 - rank, 5, W);
    pthread_join(thread, NULL);
}

/* case thread_sends ranks=2 */
static void *sends(void *unused) { nap(); MPI_Send(two, 1, MPI_INT, 1 - rank, 6, W); return unused; }
static void thread_sends(void)
{
    pthread_create(&thread, NULL, sends, NULL);
    MPI_Recv(one, 1, MPI_INT, 1 - rank, 6, W, NONE);
    pthread_join(thread, NULL);
}

/* case late_to_dup_and_split ranks=4 */
static void late_to_dup_and_split(void)
{
    MPI_Comm copy, half;
    nap_of(3);
    MPI_Comm_dup(W, &copy);
    MPI_Comm_split(copy, rank % 2, 0, &half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

/* case late_to_an_intercommunicator ranks=4 */
static void late_to_an_intercommunicator(void)
{
    MPI_Comm half, inter;
    MPI_Comm_split(W, rank % 2, 0, &half);
    nap_of(3);
    MPI_Intercomm_create(half, 0, W, 1 - rank % 2, 0, &inter);
    MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* case late_neighbor ranks=3 */
static void late_neighbor(void)
{
    MPI_Comm ring;
    int circle = 1;
    MPI_Cart_create(W, 1, &size, &circle, 0, &ring);
    nap_of(2);
    MPI_Neighbor_allgather(one, 1, MPI_INT, two, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

/* case late_group ranks=3 */
static void late_group(void)
{
    MPI_Group everybody;
    MPI_Comm made;
    MPI_Comm_group(W, &everybody);
    nap_of(0);
    MPI_Comm_create_group(W, everybody, 5, &made);
    MPI_Comm_free(&made);
    MPI_Group_free(&everybody);
}

/* case another_session ranks=2 */
static void another_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    nap_of(1);
    MPI_Session_finalize(&session);
}

/* case sendrecv_of_one_who_is_late ranks=3 */
static void sendrecv_of_one_who_is_late(void)
{
    nap_of(1);
    MPI_Sendrecv(one, 1, MPI_INT, (rank + 1) % size, 0, two, 1, MPI_INT, (rank + size - 1) % size, 0, W, NONE);
}

/* case file_between_ranks ranks=2 not=hosts */
static void file_between_ranks(void)
{
    char path[] = "/tmp/weft-deadlocks-XXXXXX";
    struct stat found;
    if (rank == 0 && !mkdtemp(path)) exit(2);
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, W);
    if (rank == 1) {
        nap();
        if (rmdir(path)) exit(3);
        MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
    } else {
        while (!stat(path, &found)) usleep(10000);
        MPI_Send(one, 1, MPI_INT, 1, 0, W);
    }
}

/* case fifo_between_ranks ranks=2 not=hosts */
static void fifo_between_ranks(void)
{
    char folder[] = "/tmp/weft-deadlocks-XXXXXX", path[64], byte;
    if (rank == 0 && !mkdtemp(folder)) exit(2);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, W);
    snprintf(path, sizeof path, "%s/fifo", folder);
    if (rank == 0 && mkfifo(path, 0600)) exit(3);
    MPI_Barrier(W);
    if (rank == 1) {
        nap();
        int file = open(path, O_WRONLY);
        if (write(file, "x", 1) != 1) exit(4);
        close(file);
    } else {
        int file = open(path, O_RDONLY);
        if (read(file, &byte, 1) != 1) exit(5);
        close(file);
        unlink(path);
        rmdir(folder);
    }
    MPI_Barrier(W);
}

#define CASE(name) {#name, name}
static const struct the_case all[] = {
    CASE(late_to_a_barrier), CASE(late_to_an_allreduce), CASE(late_root), CASE(late_to_a_nonblocking_barrier),
    CASE(late_to_finalize), CASE(late_receiver), CASE(late_receiver_of_much), CASE(one_of_two_never_comes),
    CASE(late_start), CASE(thread_makes_partition_ready), CASE(late_probe), CASE(thread_receives), CASE(thread_sends),
    CASE(late_to_dup_and_split), CASE(late_to_an_intercommunicator), CASE(late_neighbor), CASE(late_group),
    CASE(another_session), CASE(sendrecv_of_one_who_is_late), CASE(file_between_ranks), CASE(fifo_between_ranks),
    {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
