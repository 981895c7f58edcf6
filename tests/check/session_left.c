/* What a program leaves behind that has only sessions, all of them finalized.
 *
 * check: ranks=1,2
 * check-output: a communicator was never freed (on left alone)
 * check-output: created in MPI_Comm_create_from_group at session_left.c:@comm (in main)
 * check-output: a datatype was never freed
 * check-output: created in MPI_Type_contiguous at session_left.c:@type (in main)
 * check-output: an info object was never freed
 * check-output: weft check: 3 findings
 */
#include <mpi.h>

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Info info;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "weft.check.left", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm); /* @comm */
    MPI_Comm_set_name(comm, "left alone");
    MPI_Group_free(&group);
    MPI_Type_contiguous(3, MPI_INT, &type); /* @type */
    MPI_Info_create(&info);
    MPI_Barrier(comm);
    MPI_Session_finalize(&session);
    return 0;
}
