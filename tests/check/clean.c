/* A correct program, with what is easily mistaken for a fault: nothing is reported.
 *
 * check: ranks=1,2,5
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, COLUMNS = 5 };

int main(int argc, char **argv)
{
    int rank, size, matrix[ROWS][COLUMNS], line[ROWS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    memset(matrix, 0, sizeof matrix);
    memset(line, 0, sizeof line);

    /* Columns lie between each other; they are received at the same time, as plain integers were sent. */
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Request requests[2 * COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        MPI_Irecv(&matrix[0][i], 1, column, last, i, MPI_COMM_WORLD, &requests[i]);
    /* Sends may share a buffer. */
    for (int i = 0; i < COLUMNS; i++)
        MPI_Isend(line, ROWS, MPI_INT, next, i, MPI_COMM_WORLD, &requests[COLUMNS + i]);
    MPI_Waitall(2 * COLUMNS, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&column);

    /* A receive with more room than the message; a structure in parts. */
    struct { int number; double value; } pair = {1, 2.0}, room[4];
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE}, structure, resized;
    MPI_Type_create_struct(2, lengths, places, kinds, &structure);
    MPI_Type_create_resized(structure, 0, sizeof pair, &resized);
    MPI_Type_free(&structure);
    MPI_Type_commit(&resized);
    MPI_Sendrecv(&pair, 1, resized, next, 1, room, 4, resized, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    /* Packed data is received as what it was packed from, and the other way round. */
    char packed[64];
    int position = 0, numbers[3] = {1, 2, 3};
    MPI_Pack(numbers, 3, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Sendrecv(packed, position, MPI_PACKED, next, 2, numbers, 3, MPI_INT, last, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(numbers, 3, MPI_INT, next, 3, packed, sizeof packed, MPI_PACKED, last, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);

    /* A request that is freed, and one that is cancelled. */
    MPI_Request request;
    MPI_Isend(numbers, 0, MPI_INT, next, 4, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Recv(numbers, 0, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(numbers, 3, MPI_INT, last, 5, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* A buffer in use by one request after another, written in between. */
    MPI_Send_init(numbers, 3, MPI_INT, next, 6, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 3; round++) {
        numbers[0] = round;
        MPI_Start(&request);
        MPI_Recv(line, 3, MPI_INT, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);

    /* Collective operations in every form of agreement: types of the same signature, MPI_IN_PLACE. */
    int *all = calloc(2 * (size_t)size, sizeof *all);
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_commit(&two);
    if (rank == 0)
        MPI_Bcast(all, 1, two, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(numbers, 2, MPI_INT, all, 1, two, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, two, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : numbers, 2, MPI_INT, all, 1, two, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&two);
    MPI_Type_free(&resized);
    free(all);

    /* A handler that a communicator still uses, a key that an attribute still uses: freed by the program all the same. */
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    MPI_Comm_free_keyval(&keyval);
    void *buffer = malloc(1000);
    int length = 1000;
    MPI_Buffer_attach(buffer, length);
    MPI_Buffer_detach(&buffer, &length);
    free(buffer);
    MPI_Finalize();
    return 0;
}
