/* What may be freed after MPI_Finalize: info objects and error handlers, also in exit handlers.
 *
 * check: ranks=1,2
 */
#include <mpi.h>
#include <stdlib.h>

static MPI_Info late;
static MPI_Errhandler handler;

static void handle(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
}

static void release(void)
{
    MPI_Info_free(&late);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    MPI_Info early, info;
    atexit(release);
    MPI_Info_create(&early);
    MPI_Session_create_errhandler(handle, &handler);
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    MPI_Info_create(&late);
    MPI_Finalize();
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&early);
    MPI_Info_free(&info);
    return 0;
}
