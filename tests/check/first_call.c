/* The call that makes a program part of a job, its first one, is named like any other.
 *
 * check: ranks=1,2 code=1
 * check-output: a session was never finalized
 * check-output: created in MPI_Session_init at first_call.c:@session (in main)
 */
#include <mpi.h>

int main(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session); /* @session */
    return 0;
}
