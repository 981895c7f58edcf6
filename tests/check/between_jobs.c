/* A message from a spawned job that is received as another type, before its receive is there and after, and one to it.
 *
 * check: ranks=1,2
 * check-output: the datatypes of a message and its receive differ: element 0 was sent as MPI_INT and received as MPI_FLOAT
 * check-output: sent by rank 0 with tag 1 in MPI_Send at between_jobs.c:@first (in main)
 * check-output: received by rank 0 in MPI_Recv at between_jobs.c:@early (in main)
 * check-output: element 2 was sent as MPI_SHORT and received as MPI_CHAR
 * check-output: sent by rank 0 with tag 2 in MPI_Ssend at between_jobs.c:@down (in main)
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    double data[8] = {0};
    MPI_Comm parent, children;
    MPI_Datatype mixed, kinds[2] = {MPI_CHAR, MPI_SHORT};
    int lengths[2] = {2, 1};
    MPI_Aint places[2] = {0, 2};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_struct(2, lengths, places, kinds, &mixed);
    MPI_Type_commit(&mixed);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        if (rank == 0) {
            MPI_Recv(data, 2, MPI_FLOAT, 0, 1, children, MPI_STATUS_IGNORE); /* @early */
            MPI_Ssend(data, 1, mixed, 1, 2, children); /* @down */
        }
        MPI_Comm_disconnect(&children);
    } else {
        if (rank == 0)
            MPI_Send(data, 2, MPI_INT, 0, 1, parent); /* @first */
        else
            MPI_Recv(data, 6, MPI_CHAR, 0, 2, parent, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Type_free(&mixed);
    MPI_Finalize();
    return 0;
}
