/* A deadlock names the line of each rank's call.
 *
 * check: code=125
 * check-output: deadlock: every rank waits
 * check-output: rank 0: waits in MPI_Recv at deadlock.c:@zero (in main)
 * check-output: rank 1: waits in MPI_Ssend at deadlock.c:@one (in main)
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @zero */
    else
        MPI_Ssend(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD); /* @one */
    MPI_Finalize();
    return 0;
}
