/* A program that needs its messages to be kept can have the rest of it checked.
 *
 * check: ranks=2 options=--set,check-sends=buffer
 * check-output: a group was never freed
 * check-output: weft check: 1 finding
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value;
    MPI_Group group;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Finalize();
    return value != 1 - rank;
}
