/* A session that is never finalized, and a window of another one that is never freed.
 *
 * check: ranks=1,2 code=1
 * check-output: a session was never finalized
 * check-output: created in MPI_Session_init at session.c:@session (in main)
 * check-output: a window was never freed
 * check-output: created in MPI_Win_allocate at session.c:@window (in main)
 */
#include <mpi.h>

int main(void)
{
    MPI_Session kept, ended;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Win window;
    void *memory;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &ended);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &kept); /* @session */
    MPI_Group_from_session_pset(ended, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "weft.check.session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm, &memory, &window); /* @window */
    MPI_Barrier(comm);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&ended);
    return 0;
}
