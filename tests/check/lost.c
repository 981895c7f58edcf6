/* Who gives up because another process has aborted is not blamed for what it leaves behind, should mpirun hear of the abort
 * late: it is stopped for a while.
 *
 * check: ranks=4 code=9
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Datatype type;
    int rank;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "weft.check.lost", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (rank == 0) {
        char command[100];
        int mpirun = (int)getppid();
        snprintf(command, sizeof command, "kill -STOP %d; (sleep 2; kill -CONT %d) >/dev/null 2>&1 &", mpirun, mpirun);
        if (system(command) != 0) return 1;
        MPI_Abort(comm, 9);
    }
    /* Fails where rank 0 was another process. */
    MPI_Barrier(comm);
    return 0;
}
