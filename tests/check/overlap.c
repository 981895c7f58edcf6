/* Buffers of operations in progress that overlap.
 *
 * check-output: the buffer of a receive overlaps that of a receive which is not complete
 * check-output: the receive in MPI_Irecv at overlap.c:@second (in main)
 * check-output: the receive in progress, started in MPI_Irecv at overlap.c:@first (in main)
 * check-output: the buffer of a receive overlaps that of a send which is not complete
 * check-output: the receive in MPI_Recv at overlap.c:@into (in main)
 * check-output: the send in progress, started in MPI_Isend at overlap.c:@from (in main)
 * check-output: the buffer of a send overlaps that of a receive which is not complete
 * check-output: the send in MPI_Send at overlap.c:@out (in main)
 * check-output: weft check: 3 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[64] = {0}, other[64] = {0};
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(data, 8, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);     /* @first */
        MPI_Irecv(data + 7, 8, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]); /* @second */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Isend(other, 8, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]); /* @from */
        MPI_Recv(other, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(other + 2, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @into */
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Irecv(data + 32, 2, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(data + 33, 2, MPI_INT, 1, 7, MPI_COMM_WORLD); /* @out */
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(data, 8, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(data, 8, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Recv(data, 8, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
        /* What was sent, so that the send's data stays as it was. */
        MPI_Send(data, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Recv(data, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 2, MPI_INT, 0, 6, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
