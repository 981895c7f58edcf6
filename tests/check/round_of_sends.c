/* Every rank sends on and waits for that before it receives: a cycle of all, also of nonblocking sends, and of no bytes.
 *
 * check: ranks=3,4 code=125 plain=0
 * check-output: mpirun: deadlock: every rank waits
 * check-output: waits in MPI_Wait at round_of_sends.c:@wait (in main): for MPI_Isend to
 * check-output: with --check every standard send waits for its receive
 */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Isend(NULL, 0, MPI_INT, (rank + 1) % size, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait */
    MPI_Recv(NULL, 0, MPI_INT, (rank + size - 1) % size, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
