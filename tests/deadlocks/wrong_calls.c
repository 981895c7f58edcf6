/* Collective calls that do not match: an error, not a deadlock. Which rank says it first differs. See wrong_messages.c. */
#include "cases.h"

/* case finalize_meets_barrier ranks=2 code=16 */
static void finalize_meets_barrier(void)
{
    if (rank != 1) MPI_Barrier(W);
}

/* case finalize_meets_broadcast ranks=2 code=16 */
static void finalize_meets_broadcast(void)
{
    if (rank != 1) MPI_Bcast(one, 1, MPI_INT, 0, W);
}

/* case finalize_meets_allreduce ranks=4 code=16 */
static void finalize_meets_allreduce(void)
{
    if (rank != 1) MPI_Allreduce(one, two, 1, MPI_INT, MPI_SUM, W);
}

/* case finalize_meets_barriers_of_many ranks=8 code=16 */
static void finalize_meets_barriers_of_many(void)
{
    if (rank != 1) MPI_Barrier(W);
}

/* case barrier_meets_broadcast ranks=2 code=16 */
static void barrier_meets_broadcast(void)
{
    if (rank == 0) MPI_Bcast(one, 1, MPI_INT, 0, W);
    MPI_Barrier(W);
    if (rank == 1) MPI_Bcast(one, 1, MPI_INT, 0, W);
}

/* case two_roots ranks=2 code=16 not=hosts */
static void two_roots(void)
{
    MPI_Bcast(one, 1, MPI_INT, rank, W);
}

/* case two_roots_and_a_barrier ranks=4 code=16 not=hosts */
static void two_roots_and_a_barrier(void)
{
    MPI_Bcast(one, 1, MPI_INT, rank % 2, W);
    MPI_Barrier(W);
}

/* case two_roots_of_many ranks=8 code=16 */
static void two_roots_of_many(void)
{
    MPI_Bcast(one, 1, MPI_INT, rank == 7, W);
}

/* case two_roots_of_large_data ranks=2 code=16 */
static void two_roots_of_large_data(void)
{
    MPI_Bcast(large, 1 << 18, MPI_INT, rank, W);
}

#define CASE(name) {#name, name}
static const struct the_case all[] = {
    CASE(finalize_meets_barrier), CASE(finalize_meets_broadcast), CASE(finalize_meets_allreduce),
    CASE(finalize_meets_barriers_of_many), CASE(barrier_meets_broadcast), CASE(two_roots),
    CASE(two_roots_and_a_barrier), CASE(two_roots_of_many), CASE(two_roots_of_large_data), {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
