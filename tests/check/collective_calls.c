/* Ranks of one communicator in different collective operations, and with different roots.
 *
 * check: ranks=3 code=16
 * check-output: ranks of one communicator are in different collective calls
 * check-output:  is in MPI_Barrier at collective_calls.c:@barrier (in main)
 * check-output:  is in MPI_Bcast at collective_calls.c:@bcast (in main)
 * check-output: ranks give different roots to MPI_Bcast
 * check-output:  says 0 in MPI_Bcast at collective_calls.c:@root (in main)
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, word = 0;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Barrier(copy); /* @barrier */
    else
        MPI_Bcast(&word, 1, MPI_INT, 1, copy); /* @bcast */
    MPI_Bcast(&word, 1, MPI_INT, rank == 2 ? 1 : 0, MPI_COMM_WORLD); /* @root */
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
