/* Collective operations among neighbors that disagree on a type or count, edge by edge.
 *
 * check: ranks=3
 * check-output: count or datatype of MPI_Neighbor_allgather differ between sender and receiver: element 0 is MPI_INT where sent and MPI_FLOAT where received
 * check-output: rank 1 receives in MPI_Neighbor_allgather at neighbor_types.c:@gather (in main)
 * check-output: count or datatype of MPI_Ineighbor_alltoallv differ between sender and receiver: element 1 is MPI_INT where sent and nothing where received
 * check-output: rank 2 sends in MPI_Ineighbor_alltoallv at neighbor_types.c:@all (in main)
 * check-output: count or datatype of MPI_Neighbor_alltoallw_init differ between sender and receiver: element 0 is MPI_CHAR where sent and MPI_INT where received
 * check-output: rank 0 receives in MPI_Neighbor_alltoallw_init at neighbor_types.c:@twice (in main)
 * check-output: ranks of one communicator are in different collective calls
 * check-output: weft check: 4 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, around = 1, in[64] = {0}, out[64] = {0};
    MPI_Comm ring, pair;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &around, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);

    /* Both neighbors of rank 1 send what it does not expect; one mistake is shown once. */
    MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, rank == 1 ? MPI_FLOAT : MPI_INT, ring); /* @gather */

    /* What rank 2 sends up, to rank 0, is too long. */
    int sent[2] = {1, rank == 2 ? 2 : 1}, received[2] = {1, 1}, places[2] = {0, 4};
    MPI_Ineighbor_alltoallv(in, sent, places, MPI_INT, out, received, places, MPI_INT, ring, &request); /* @all */
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* Each edge of several between two ranks has its own type: first they agree, then the second differs. */
    int degree = rank < 2 ? 2 : 0, peers[2] = {1 - rank, 1 - rank}, weights[2] = {1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers, weights, degree, peers, weights, MPI_INFO_NULL, 0, &pair);
    int counts[2] = {1, 4}, ones[2] = {1, 1};
    MPI_Aint bytes[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_INT, MPI_CHAR}, other[2] = {MPI_INT, MPI_INT};
    MPI_Neighbor_alltoallw(in, counts, bytes, types, out, counts, bytes, types, pair);
    MPI_Neighbor_alltoallw_init(in, counts, bytes, types, out, /* @twice */
                                rank == 0 ? ones : counts, bytes, rank == 0 ? other : types, pair, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);

    if (rank == 0)
        MPI_Neighbor_alltoall_init(in, 1, MPI_INT, out, 1, MPI_INT, ring, MPI_INFO_NULL, &request);
    else
        MPI_Neighbor_allgather_init(in, 1, MPI_INT, out, 1, MPI_INT, ring, MPI_INFO_NULL, &request);
    MPI_Request_free(&request);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
