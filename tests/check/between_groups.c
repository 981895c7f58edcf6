/* Collective operations between two groups whose ranks disagree on type, count, operation or root.
 *
 * check: ranks=5,4
 * check-output: count or datatype of MPI_Bcast differ between sender and receiver: element 1 is MPI_INT where sent and MPI_FLOAT where received
 * check-output:  sends in MPI_Bcast at between_groups.c:@bcast (in main)
 * check-output: count or datatype of MPI_Gather differ between sender and receiver: element 0 is MPI_CHAR where sent and MPI_BYTE where received
 * check-output: count or datatype of MPI_Alltoallv differ between sender and receiver: element 1 is MPI_INT where sent and nothing where received
 * check-output: count or datatype of MPI_Iallgather differ between sender and receiver: element 3 is nothing where sent and MPI_INT where received
 * check-output: count or datatype of MPI_Allreduce differ between ranks: element 0 is
 * check-output: ranks give different operations to MPI_Reduce
 * check-output: ranks give different roots to MPI_Scatter_init
 * check-output:  says 0 in MPI_Scatter_init at between_groups.c:@root (in main)
 * check-output: ranks of one communicator are in different collective calls
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, in[64] = {0}, out[64] = {0}, lengths[2] = {1, 1};
    MPI_Comm side, both;
    MPI_Request request;
    MPI_Aint places[2] = {0, 4};
    MPI_Datatype kinds[2] = {MPI_INT, MPI_FLOAT}, mixed;
    MPI_Init(&argc, &argv);
    MPI_Type_create_struct(2, lengths, places, kinds, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* The first two ranks, and the others. */
    int upper = rank >= 2, local, remote;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, upper ? 0 : 2, 0, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    MPI_Comm_rank(both, &local);
    MPI_Comm_remote_size(both, &remote);

    /* The root is rank 1 of the lower group. */
    int root = upper ? 1 : local == 1 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Bcast(in, upper ? 1 : 2, upper ? mixed : MPI_INT, root, both); /* @bcast */
    MPI_Gather(in, 4, MPI_CHAR, out, 4, MPI_BYTE, root, both);
    int counts[64], wrong[64], displacements[64];
    for (int i = 0; i < remote; i++)
        counts[i] = 1, wrong[i] = upper && local == 0 && i == 1 ? 2 : 1, displacements[i] = 2 * i;
    MPI_Alltoallv(in, wrong, displacements, MPI_INT, out, counts, displacements, MPI_INT, both);
    MPI_Iallgather(in, !upper && local == 1 ? 3 : 4, MPI_INT, out, 4, MPI_INT, both, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, out, 2, upper ? MPI_FLOAT : MPI_INT, MPI_SUM, both);
    MPI_Reduce(in, out, 2, MPI_INT, upper && local == 1 ? MPI_MAX : MPI_MIN, root, both);
    /* What takes no part may give anything. */
    MPI_Reduce(in, out, root == MPI_PROC_NULL ? 7 : 2, root == MPI_PROC_NULL ? MPI_CHAR : MPI_INT, MPI_SUM, root, both);
    /* Prepared only: what could not end is not started. */
    MPI_Scatter_init(in, 1, MPI_INT, out, 1, MPI_INT, upper ? 0 : root, both, MPI_INFO_NULL, &request); /* @root */
    MPI_Request_free(&request);
    if (upper)
        MPI_Barrier_init(both, MPI_INFO_NULL, &request);
    else
        MPI_Allgather_init(in, 1, MPI_INT, out, 1, MPI_INT, both, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);
    MPI_Type_free(&mixed);
    MPI_Comm_free(&both);
    MPI_Comm_free(&side);
    MPI_Finalize();
    return 0;
}
