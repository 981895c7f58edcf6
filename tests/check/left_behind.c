/* One of everything that a program should free, complete or receive before MPI_Finalize.
 *
 * check: ranks=2,3 options=--set,check-sends=buffer
 * check-output: a communicator was never freed
 * check-output: created in MPI_Comm_dup at left_behind.c:@dup (in main)
 * check-output: a group was never freed
 * check-output: created in MPI_Comm_group at left_behind.c:@group (in main)
 * check-output: a datatype was never freed
 * check-output: created in MPI_Type_contiguous at left_behind.c:@type (in main)
 * check-output: an operation was never freed
 * check-output: created in MPI_Op_create at left_behind.c:@op (in main)
 * check-output: an info object was never freed
 * check-output: created in MPI_Info_create at left_behind.c:@info (in main)
 * check-output: an error handler was never freed
 * check-output: created in MPI_Comm_create_errhandler at left_behind.c:@handler (in main)
 * check-output: an attribute key for communicators was never freed
 * check-output: created in MPI_Comm_create_keyval at left_behind.c:@keyval (in main)
 * check-output: a buffer for buffered sends was never detached
 * check-output: attached in MPI_Buffer_attach at left_behind.c:@attach (in main)
 * check-output: a request was never completed
 * check-output: made in MPI_Irecv at left_behind.c:@irecv (in main)
 * check-output: a request was never completed or freed
 * check-output: made in MPI_Send_init at left_behind.c:@persistent (in main)
 * check-output: a message of 12 bytes was never received
 * check-output: sent by rank 1 with tag 9 in MPI_Send at left_behind.c:@message (in main)
 * check-output: a window was never freed
 * check-output: created in MPI_Win_allocate at left_behind.c:@window (in main)
 * check-output: a message matched by a probe was never received
 * check-output: created in MPI_Mprobe at left_behind.c:@mprobe (in main)
 * check-output: weft check: 13 findings
 */
#include <mpi.h>
#include <stdlib.h>

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

int main(int argc, char **argv)
{
    int rank, keyval, data[3] = {0}, room[3];
    MPI_Comm copy;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Request receive, send;
    MPI_Message message;
    MPI_Win window;
    void *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);              /* @dup */
    MPI_Comm_group(MPI_COMM_WORLD, &group);           /* @group */
    MPI_Type_contiguous(3, MPI_INT, &type);           /* @type */
    MPI_Op_create(add, 1, &op);                       /* @op */
    MPI_Info_create(&info);                           /* @info */
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window); /* @window */
    MPI_Comm_create_errhandler(handle, &handler);     /* @handler */
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL); /* @keyval */
    MPI_Buffer_attach(malloc(1000), 1000);            /* @attach */
    MPI_Irecv(room, 3, MPI_INT, 0, 8, MPI_COMM_WORLD, &receive);         /* @irecv */
    MPI_Send_init(data, 3, MPI_INT, 0, 8, MPI_COMM_WORLD, &send);        /* @persistent */
    if (rank == 1) {
        MPI_Send(data, 3, MPI_INT, 0, 9, MPI_COMM_WORLD); /* @message */
        MPI_Send(data, 3, MPI_INT, 0, 10, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Mprobe(1, 10, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); /* @mprobe */
    }
    MPI_Finalize();
    return 0;
}
