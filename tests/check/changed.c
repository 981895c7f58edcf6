/* Send buffers that are written before the send is complete: a short one, a column of a matrix, a persistent one.
 *
 * check-output: the buffer of a send was changed before the send was complete
 * check-output: started in MPI_Isend at changed.c:@short (in main)
 * check-output: completed in MPI_Wait at changed.c:@wait (in main)
 * check-output: started in MPI_Isend at changed.c:@column (in main)
 * check-output: started in MPI_Start at changed.c:@start (in main)
 * check-output: weft check: 3 findings
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, matrix[8][8] = {{0}};
    MPI_Datatype column;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(8, 1, 8, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (rank == 0) {
        MPI_Isend(matrix, 2, MPI_INT, 1, 1, MPI_COMM_WORLD, &request); /* @short */
        matrix[0][1] = 5;
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait */
        MPI_Isend(matrix, 1, column, 1, 2, MPI_COMM_WORLD, &request);
        matrix[3][1] = 6; /* between the column's elements: no fault */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Isend(matrix, 1, column, 1, 2, MPI_COMM_WORLD, &request); /* @column */
        matrix[3][0] = 7;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send_init(matrix, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        for (int round = 0; round < 3; round++) {
            matrix[0][0] = round; /* inactive: no fault */
            MPI_Start(&request);  /* @start */
            if (round == 1)
                matrix[0][0] = -1;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else {
        MPI_Recv(matrix, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++)
            MPI_Recv(matrix, 8, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++)
            MPI_Recv(matrix, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
