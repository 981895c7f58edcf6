/* MPI_THREAD_SERIALIZED, and one thread sends while another one receives what it sends.
 *
 * check: ranks=1,2
 * check-output: two threads call MPI at once, but the program has required MPI_THREAD_SERIALIZED
 * check-output: in MPI_Recv at thread_serialized.c:@receive (in other)
 * check-output: in MPI_Ssend at thread_serialized.c:@send (in main)
 * check-output: the level was required in MPI_Init_thread at thread_serialized.c:@init (in main)
 * check-output: weft check: 1 finding
 */
#include <mpi.h>
#include <pthread.h>

static void *other(void *value)
{
    MPI_Recv(value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE); /* @receive */
    return NULL;
}

int main(int argc, char **argv)
{
    int level, value = 7, found = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level); /* @init */
    pthread_create(&thread, NULL, other, &found);
    MPI_Ssend(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF); /* @send */
    pthread_join(thread, NULL);
    MPI_Finalize();
    return found != 7;
}
