/* One-sided synchronisation that nobody ends. */
#include "cases.h"

static MPI_Win window(void)
{
    MPI_Win win;
    int *memory;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, W, &memory, &win);
    MPI_Win_set_name(win, "counters");
    return win;
}

/* case lock_never_released ranks=2 not=processes,mixed,hosts */
static void lock_never_released(void)
{
    MPI_Win win = window();
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(W);
    if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case lock_all_beside_a_lock ranks=2 not=processes,mixed,hosts */
static void lock_all_beside_a_lock(void)
{
    MPI_Win win = window();
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Barrier(W);
    if (rank == 0) MPI_Win_lock_all(0, win);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case post_that_nobody_makes ranks=3 not=processes,mixed,hosts */
static void post_that_nobody_makes(void)
{
    MPI_Win win = window();
    MPI_Group all, origins;
    MPI_Comm_group(W, &all);
    MPI_Group_excl(all, 1, &(int){2}, &origins);
    if (rank == 0) MPI_Win_start(all, 0, win);
    MPI_Win_post(origins, 0, win);
    MPI_Win_wait(win);
}

static const struct the_case all[] = {
    {"lock_never_released", lock_never_released},
    {"lock_all_beside_a_lock", lock_all_beside_a_lock},
    {"post_that_nobody_makes", post_that_nobody_makes},
    {0, 0},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
