/* Operations that the standard does not define for a datatype, though they work here and elsewhere.
 *
 * check: ranks=2
 * check-output: MPI_SUM on MPI_CHAR: the standard does not define it, and another MPI may refuse it
 * check-output: reduced in MPI_Allreduce at operations.c:@sum (in main)
 * check-output: MPI_LOR on MPI_AINT: the standard does not define it, and another MPI may refuse it
 * check-output: reduced in MPI_Iscan at operations.c:@or (in main)
 * check-output: MPI_MAX on MPI_CHAR: the standard
 * check-output: reduced in MPI_Reduce_local at operations.c:@local (in main)
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    char in = 1, out = 2;
    signed char number = 3, sum;
    MPI_Aint mine = 1, any;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&in, &out, 1, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD); /* @sum */
    MPI_Iscan(&mine, &any, 1, MPI_AINT, MPI_LOR, MPI_COMM_WORLD, &request); /* @or */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_local(&in, &out, 1, MPI_CHAR, MPI_MAX); /* @local */
    MPI_Allreduce(&number, &sum, 1, MPI_SIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
