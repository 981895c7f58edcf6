/* Ranks 0 and 1, or some more, wait for each other for ever while others run: found where all are threads of one process. See
 * wrong_messages.c. */
#include "cases.h"
#include <unistd.h>

/* Keeps all but the first `stay` ranks busy for longer than any test takes. */
static int others_run(int stay)
{
    if (rank >= stay) sleep(200);
    return rank < stay;
}

/* case partial_cycle ranks=4 not=processes,mixed,hosts */
static void partial_cycle(void)
{
    if (others_run(3)) MPI_Recv(one, 1, MPI_INT, (rank + 1) % 3, 5, W, NONE);
}

/* case partial_head_to_head ranks=3 not=processes,mixed,hosts */
static void partial_head_to_head(void)
{
    if (others_run(2)) MPI_Send(large, 1 << 18, MPI_INT, 1 - rank, 5, W);
}

/* case partial_barrier ranks=4 not=processes,mixed,hosts */
static void partial_barrier(void)
{
    if (others_run(3)) {
        if (rank == 1) MPI_Recv(one, 1, MPI_INT, 0, 5, W, NONE);
        MPI_Barrier(W);
    }
}

/* case partial_root ranks=3 not=processes,mixed,hosts */
static void partial_root(void)
{
    if (others_run(2)) {
        if (rank == 1) MPI_Recv(one, 1, MPI_INT, 0, 5, W, NONE);
        MPI_Bcast(two, 1, MPI_INT, 1, W);
    }
}

/* case partial_finalize ranks=3 not=processes,mixed,hosts */
static void partial_finalize(void)
{
    if (others_run(2) && rank == 0) MPI_Recv(one, 1, MPI_INT, 1, 5, W, NONE);
}

/* case partial_any_source ranks=5 not=processes,mixed,hosts */
static void partial_any_source(void)
{
    MPI_Comm some;
    MPI_Comm_split(W, rank < 3, 0, &some);
    MPI_Comm_set_name(some, "some");
    if (others_run(3)) MPI_Recv(one, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, some, NONE);
}

/* case partial_behind_a_cycle ranks=5 not=processes,mixed,hosts */
static void partial_behind_a_cycle(void)
{
    /* Ranks 2 and 3 wait for rank 1, which is in a cycle with rank 0. */
    if (others_run(4)) MPI_Recv(one, 1, MPI_INT, rank < 2 ? 1 - rank : 1, 5, W, NONE);
}

/* case partial_waitall ranks=3 not=processes,mixed,hosts */
static void partial_waitall(void)
{
    MPI_Request requests[2];
    if (others_run(2)) {
        MPI_Irecv(one, 1, MPI_INT, 1 - rank, 5, W, &requests[0]);
        MPI_Irecv(two, 1, MPI_INT, 2, 5, W, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const struct the_case all[] = {
        {"partial_cycle", partial_cycle},
        {"partial_head_to_head", partial_head_to_head},
        {"partial_barrier", partial_barrier},
        {"partial_root", partial_root},
        {"partial_finalize", partial_finalize},
        {"partial_any_source", partial_any_source},
        {"partial_behind_a_cycle", partial_behind_a_cycle},
        {"partial_waitall", partial_waitall},
        {0, 0},
    };
    return run_case(all, argc, argv);
}
