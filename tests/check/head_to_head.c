/* Both ranks send, then receive, which works only where MPI keeps the messages.
 *
 * check: ranks=2 code=125 plain=0
 * check-output: mpirun: deadlock: every rank waits
 * check-output: rank 0: waits in MPI_Send at head_to_head.c:@send (in main): to rank 1 with tag 4
 * check-output: rank 1: waits in MPI_Send at head_to_head.c:@send (in main): to rank 0 with tag 4
 * check-output: with --check every standard send waits for its receive
 * check-output: --set check-sends=buffer
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD); /* @send */
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return value != 1 - rank;
}
