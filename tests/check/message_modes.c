/* Messages sent as one type and received as another, by every call that sends and every call that receives; with short data
 * and long, whether the receive waits for the message or the message for the receive. The last rank sends, the first one
 * receives, so with three ranks as processes of two they are on different ones, too.
 *
 * check: ranks=2,3
 * check-output: with tag 1 in MPI_Ssend at message_modes.c:@ssend (in main)
 * check-output: with tag 2 in MPI_Start at message_modes.c:@start (in main)
 * check-output: with tag 3 in MPI_Issend at message_modes.c:@issend (in main)
 * check-output: with tag 4 in MPI_Rsend at message_modes.c:@rsend (in main)
 * check-output: with tag 5 in MPI_Send at message_modes.c:@medium (in main)
 * check-output: received by rank 0 in MPI_Recv at message_modes.c:@recv (in main)
 * check-output: received by rank 0 in MPI_Start at message_modes.c:@restart (in main)
 * check-output: received by rank 0 in MPI_Irecv at message_modes.c:@long (in main)
 * check-output: received by rank 0 in MPI_Mrecv at message_modes.c:@mrecv (in main)
 * check-output: received by rank 0 in MPI_Imrecv at message_modes.c:@imrecv (in main)
 * check-output: element 5 was sent as MPI_DOUBLE and received as MPI_INT
 * check-output: element 0 was sent as MPI_CHAR and received as MPI_FLOAT
 * check-output: element 0 was sent as MPI_LONG and received as MPI_DOUBLE
 * check-output: element 0 was sent as MPI_SHORT and received as MPI_BYTE
 * check-output: element 1 was sent as MPI_FLOAT and received as MPI_INT
 * check-output: weft check: 5 findings
 */
#include <mpi.h>
#include <stdlib.h>

enum { LONG = 200000, MEDIUM = 3000 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Request request;
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *data = calloc(LONG, sizeof(double));
    MPI_Datatype mixed, fields[2] = {MPI_INT, MPI_DOUBLE}, pair, halves[2] = {MPI_INT, MPI_FLOAT};
    int lengths[2] = {5, 1}, ones[2] = {1, 1};
    MPI_Aint places[2] = {0, 24}, near[2] = {0, 4};
    MPI_Type_create_struct(2, lengths, places, fields, &mixed);
    MPI_Type_create_struct(2, ones, near, halves, &pair);
    MPI_Type_commit(&mixed);
    MPI_Type_commit(&pair);
    if (rank == size - 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ssend(data, 1, mixed, 0, 1, MPI_COMM_WORLD); /* @ssend */
        MPI_Send_init(data, 7, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request);
        MPI_Start(&request); /* @start */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        MPI_Issend(data, LONG, MPI_LONG, 0, 3, MPI_COMM_WORLD, &request); /* @issend */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Rsend(data, LONG, MPI_SHORT, 0, 4, MPI_COMM_WORLD); /* @rsend */
        MPI_Send(data, MEDIUM, pair, 0, 5, MPI_COMM_WORLD); /* @medium */
    } else if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(data, 9, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @recv */
        MPI_Recv_init(data, 9, MPI_FLOAT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request);
        MPI_Start(&request); /* @restart */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        MPI_Mprobe(size - 1, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(data, LONG, MPI_DOUBLE, &message, &request); /* @imrecv */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Irecv(data, LONG * 2, MPI_BYTE, size - 1, 4, MPI_COMM_WORLD, &request); /* @long */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, 2 * MEDIUM, MPI_INT, &message, MPI_STATUS_IGNORE); /* @mrecv */
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&mixed);
    MPI_Type_free(&pair);
    free(data);
    MPI_Finalize();
    return 0;
}
