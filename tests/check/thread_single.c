/* A second thread calls MPI, which MPI_Init does not allow; what every thread may call at any time is no fault.
 *
 * check: ranks=1,2
 * check-output: a second thread calls MPI, but the program has required MPI_THREAD_SINGLE
 * check-output: called by the other thread in MPI_Comm_size at thread_single.c:@call (in other)
 * check-output: the level was required in MPI_Init at thread_single.c:@init (in main)
 * check-output: weft check: 1 finding
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

static void *other(void *nothing)
{
    int size, flag;
    MPI_Info info;
    MPI_Initialized(&flag);
    MPI_Is_thread_main(&flag);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    if (MPI_Wtime() < 0)
        abort();
    MPI_Comm_size(MPI_COMM_WORLD, &size); /* @call */
    return nothing;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Init(&argc, &argv); /* @init */
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
