/* A partitioned send and its receive of different types, however each side divides its buffer.
 *
 * check: ranks=2
 * check-output: the datatypes of a message and its receive differ: element 0 was sent as MPI_INT and received as MPI_FLOAT
 * check-output: sent by rank 0 with tag 1 in MPI_Psend_init at partitioned_types.c:@send (in main)
 * check-output: received by rank 1 in MPI_Precv_init at partitioned_types.c:@receive (in main)
 * check-output: element 7 was sent as MPI_FLOAT and received as MPI_INT
 * check-output: weft check: 2 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[16] = {0}, lengths[2] = {7, 1};
    MPI_Aint places[2] = {0, 28};
    MPI_Datatype kinds[2] = {MPI_INT, MPI_FLOAT}, mixed;
    MPI_Request requests[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_struct(2, lengths, places, kinds, &mixed);
    MPI_Type_commit(&mixed);
    if (rank == 0) {
        MPI_Psend_init(data, 4, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]); /* @send */
        /* These agree. */
        MPI_Psend_init(data, 4, 2, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        MPI_Psend_init(data, 2, 1, mixed, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
        MPI_Psend_init(data, 2, 1, mixed, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
        MPI_Startall(4, requests);
        for (int i = 0; i < 4; i++)
            MPI_Pready_range(0, i < 2 ? 3 : 1, requests[i]);
    } else if (rank == 1) {
        MPI_Precv_init(data, 2, 4, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]); /* @receive */
        MPI_Precv_init(data, 1, 8, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
        MPI_Precv_init(data, 16, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
        MPI_Precv_init(data, 1, 2, mixed, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
        for (int i = 0; i < 4; i++) {
            MPI_Start(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0)
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
    MPI_Type_free(&mixed);
    MPI_Finalize();
    return 0;
}
