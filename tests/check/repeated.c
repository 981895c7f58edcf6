/* One mistake, made again and again, is one finding with a count, whatever numbers it names.
 *
 * check: ranks=2,3 most=12 options=--set,check-sends=buffer
 * check-output: the buffer of a send was changed before the send was complete
 * check-output: started in MPI_Isend at repeated.c:@isend (in main)
 * check-output: weft check: 20000 times, by rank 0: the buffer of a send was changed
 * check-output: weft check: 40 times like this, by rank 1: a message of 4 bytes was never received
 * check-output: weft check: 2 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, data[64] = {0}, received;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 20000; round++) {
        if (rank == 0) {
            data[0] = round;
            MPI_Isend(data, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request); /* @isend */
            data[0] = -1;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(&received, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int length = 1; rank == 0 && length <= 40; length++)
        MPI_Send(data, length, MPI_INT, 1, 100 + length, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
