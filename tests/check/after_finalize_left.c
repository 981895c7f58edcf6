/* What may be freed after MPI_Finalize and never is.
 *
 * check: ranks=1,2
 * check-output: an info object was never freed
 * check-output: created in MPI_Info_create at after_finalize_left.c:@late (in main)
 * check-output: created in MPI_Info_create at after_finalize_left.c:@early (in main)
 * check-output: an error handler was never freed
 * check-output: created in MPI_Session_create_errhandler at after_finalize_left.c:@handler (in main)
 * check-output: weft check: 3 findings
 */
#include <mpi.h>

static void handle(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
}

int main(int argc, char **argv)
{
    MPI_Info early, late;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&early); /* @early */
    MPI_Finalize();
    MPI_Info_create(&late); /* @late */
    MPI_Session_create_errhandler(handle, &handler); /* @handler */
    return 0;
}
