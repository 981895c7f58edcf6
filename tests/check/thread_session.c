/* A session says its level in an info key.
 *
 * check: ranks=1,2
 * check-output: a thread calls MPI that is not the main one, but the program has required MPI_THREAD_FUNNELED
 * check-output: called by the other thread in MPI_Comm_size at thread_session.c:@call (in other)
 * check-output: the level was required in MPI_Session_init at thread_session.c:@init (in main)
 * check-output: weft check: 1 finding
 */
#include <mpi.h>
#include <pthread.h>

static MPI_Comm comm;

static void *other(void *nothing)
{
    int size;
    MPI_Comm_size(comm, &size); /* @call */
    return nothing;
}

int main(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Info info;
    pthread_t thread;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session); /* @init */
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "weft.check.level", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
