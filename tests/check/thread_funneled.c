/* MPI_THREAD_FUNNELED, and a thread that is not the main one sends.
 *
 * check: ranks=2,3
 * check-output: a thread calls MPI that is not the main one, but the program has required MPI_THREAD_FUNNELED
 * check-output: called by the other thread in MPI_Send at thread_funneled.c:@send (in other)
 * check-output: the level was required in MPI_Init_thread at thread_funneled.c:@init (in main)
 * check-output: weft check: 1 finding
 */
#include <mpi.h>
#include <pthread.h>

static void *other(void *value)
{
    MPI_Send(value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD); /* @send */
    return NULL;
}

int main(int argc, char **argv)
{
    int rank, level, value = 7;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level); /* @init */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        pthread_create(&thread, NULL, other, &value);
        pthread_join(thread, NULL);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return value != 7;
}
