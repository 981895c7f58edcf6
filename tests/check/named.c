/* Findings name the communicator: the world, one with a name, one without.
 *
 * check: ranks=2,4 options=--set,check-sends=buffer
 * check-output: and received as MPI_INT (on MPI_COMM_WORLD)
 * check-output: ranks give different roots to MPI_Bcast (on halo exchange)
 * check-output: a message of 4 bytes was never received (on MPI_COMM_WORLD)
 * check-output: a communicator was never freed (on halo exchange)
 * check-output: a communicator was never freed (on the communicator with context number
 * check-output: weft check: 5 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value = 0;
    float real = 1;
    MPI_Comm named, unnamed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_dup(MPI_COMM_WORLD, &unnamed);
    MPI_Comm_set_name(named, "halo exchange");
    if (rank == 0) {
        MPI_Send(&real, 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&value, 0, MPI_INT, rank == 1, named);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
