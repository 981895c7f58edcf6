/* Collective operations whose ranks disagree on count, datatype, operation or root.
 *
 * check: ranks=3
 * check-output: count or datatype of MPI_Bcast differ between sender and receiver: element 0 is MPI_INT where sent and MPI_FLOAT where received
 * check-output: rank 1 sends in MPI_Bcast at collective_types.c:@bcast (in main)
 * check-output: count or datatype of MPI_Allreduce differ between ranks: element 2 is
 * check-output: ranks give different operations to MPI_Reduce
 * check-output: count or datatype of MPI_Gather differ between sender and receiver: element 0 is MPI_CHAR where sent and MPI_BYTE where received
 * check-output: count or datatype of MPI_Alltoallv differ between sender and receiver: element 1 is MPI_INT where sent and nothing where received
 * check-output: count or datatype of MPI_Iallgather differ between sender and receiver: element 3 is nothing where sent and MPI_INT where received
 * check-output: ranks give different roots to MPI_Gather_init
 * check-output: ranks give different operations to MPI_Reduce_init
 * check-output: weft check: 8 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, in[64] = {0}, out[64] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Bcast(in, 4, rank == 1 ? MPI_INT : MPI_FLOAT, 1, MPI_COMM_WORLD); /* @bcast */
    MPI_Allreduce(in, out, rank == 2 ? 2 : 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 2, MPI_INT, rank == 0 ? MPI_MAX : MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Gather(in, 4, MPI_CHAR, out, 4, MPI_BYTE, 2, MPI_COMM_WORLD);
    int counts[64], wrong[64], places[64];
    for (int i = 0; i < size; i++)
        counts[i] = 1, wrong[i] = rank == 0 ? 2 : 1, places[i] = 2 * i;
    MPI_Alltoallv(in, wrong, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    /* What does not wait, or is only prepared, is compared, too; nothing is started that could not end. */
    MPI_Request request;
    MPI_Iallgather(in, rank == 1 ? 3 : 4, MPI_INT, out, 4, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Gather_init(in, 1, MPI_INT, out, 1, MPI_INT, rank == 2, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);
    MPI_Reduce_init(in, out, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_PROD, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
