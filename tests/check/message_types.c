/* A message sent as one type and received as another, by each way a message can go.
 *
 * check: ranks=2,3 options=--set,check-sends=buffer
 * check-output: the datatypes of a message and its receive differ: element 0 was sent as MPI_INT and received as MPI_FLOAT
 * check-output: sent by rank 0 with tag 1 in MPI_Send at message_types.c:@early (in main)
 * check-output: received by rank 1 in MPI_Recv at message_types.c:@late (in main)
 * check-output: element 3 was sent as MPI_DOUBLE and received as MPI_INT
 * check-output: sent by rank 0 with tag 2 in MPI_Isend at message_types.c:@isend (in main)
 * check-output: received by rank 1 in MPI_Irecv at message_types.c:@irecv (in main)
 * check-output: element 0 was sent as MPI_BYTE and received as MPI_LONG
 * check-output: sent by rank 0 with tag 3 in MPI_Send at message_types.c:@long (in main)
 * check-output: element 1 was sent as MPI_INT and received as MPI_DOUBLE
 * check-output: sent by rank 0 with tag 4 in MPI_Bsend at message_types.c:@bsend (in main)
 * check-output: sent by rank 1 with tag 5 in MPI_Sendrecv_replace at message_types.c:@replace (in main)
 * check-output: weft check: 5 findings
 */
#include <mpi.h>
#include <stdlib.h>

enum { LONG = 100000 };

int main(int argc, char **argv)
{
    int rank, one = 1, fields[2] = {3, 1};
    MPI_Aint places[2] = {0, 16};
    MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE}, mixed;
    char record[24];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_struct(2, fields, places, kinds, &mixed);
    MPI_Type_commit(&mixed);
    if (rank == 0) {
        /* Nobody has posted a receive for it. */
        MPI_Send(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); /* @early */
        MPI_Barrier(MPI_COMM_WORLD);
        /* The receive is posted. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Isend(record, 1, mixed, 1, 2, MPI_COMM_WORLD, &request); /* @isend */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        char *bytes = calloc(LONG, 8);
        MPI_Send(bytes, 8 * LONG, MPI_BYTE, 1, 3, MPI_COMM_WORLD); /* @long */
        free(bytes);
        char *space = malloc(1000);
        int length = 1000;
        MPI_Buffer_attach(space, length);
        int two[2] = {1, 2};
        MPI_Bsend(two, 2, MPI_INT, 1, 4, MPI_COMM_WORLD); /* @bsend */
        MPI_Buffer_detach(&space, &length);
        free(space);
        float value = 0;
        MPI_Sendrecv(&value, 1, MPI_FLOAT, 1, 6, two, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        float number;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @late */
        int six[6];
        MPI_Request request;
        MPI_Irecv(six, 6, MPI_INT, 0, 2, MPI_COMM_WORLD, &request); /* @irecv */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        long *words = calloc(LONG, sizeof(long));
        MPI_Recv(words, LONG, MPI_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        free(words);
        struct { int number; double value; } mix;
        int lengths[2] = {1, 1};
        MPI_Aint where[2] = {0, 8};
        MPI_Datatype both[2] = {MPI_INT, MPI_DOUBLE}, type;
        MPI_Type_create_struct(2, lengths, where, both, &type);
        MPI_Type_commit(&type);
        MPI_Recv(&mix, 1, type, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
        float value = 0;
        MPI_Sendrecv_replace(&value, 1, MPI_FLOAT, 0, 5, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @replace */
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&mixed);
    MPI_Finalize();
    return 0;
}
