/* Collective operations to which not all come, in one order, with the same root. See wrong_messages.c. */
#include "cases.h"

/* case barrier_without_one ranks=4 */
static void barrier_without_one(void)
{
    if (rank != 2) MPI_Barrier(W);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case receive_before_broadcast ranks=3 */
static void receive_before_broadcast(void)
{
    if (rank == 0) MPI_Recv(one, 1, MPI_INT, 1, 0, W, NONE);
    MPI_Bcast(one, 1, MPI_INT, 0, W);
    if (rank == 1) MPI_Send(one, 1, MPI_INT, 0, 0, W);
}

/* case allreduce_without_one ranks=3 */
static void allreduce_without_one(void)
{
    if (rank == 1) MPI_Ssend(one, 1, MPI_INT, 0, 0, W);
    MPI_Allreduce(one, two, 3, MPI_INT, MPI_SUM, W);
}

/* case crossed_communicators ranks=2 */
static void crossed_communicators(void)
{
    MPI_Comm copy[2];
    for (int i = 0; i < 2; i++) MPI_Comm_dup(W, &copy[i]);
    MPI_Comm_set_name(copy[0], "left");
    MPI_Comm_set_name(copy[1], "right");
    MPI_Barrier(copy[rank]);
    MPI_Barrier(copy[1 - rank]);
}

/* case unnamed_communicators ranks=4 */
static void unnamed_communicators(void)
{
    MPI_Comm half, copy;
    MPI_Comm_split(W, rank / 2, rank, &half);
    MPI_Comm_dup(W, &copy);
    if (rank % 2) MPI_Barrier(half);
    else MPI_Barrier(copy);
}

/* case nonblocking_barrier ranks=3 */
static void nonblocking_barrier(void)
{
    MPI_Request request;
    if (rank == 2) MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
    MPI_Ibarrier(W, &request);
    MPI_Wait(&request, NONE);
}

/* case nonblocking_crossed ranks=2 */
static void nonblocking_crossed(void)
{
    MPI_Comm copy;
    MPI_Request request;
    MPI_Comm_dup(W, &copy);
    MPI_Comm_set_name(copy, "copy");
    MPI_Iallreduce(one, two, 1, MPI_INT, MPI_SUM, rank ? copy : W, &request);
    MPI_Wait(&request, NONE);
}

/* case persistent_barrier ranks=2 */
static void persistent_barrier(void)
{
    MPI_Request request;
    MPI_Barrier_init(W, MPI_INFO_NULL, &request);
    if (rank == 0) {
        MPI_Start(&request);
        MPI_Wait(&request, NONE);
    } else {
        MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
    }
}

/* case neighbors ranks=3 */
static void neighbors(void)
{
    MPI_Comm ring;
    int circle = 1;
    MPI_Cart_create(W, 1, &size, &circle, 0, &ring);
    MPI_Comm_set_name(ring, "ring");
    if (rank != 1) MPI_Neighbor_allgather(one, 1, MPI_INT, two, 1, MPI_INT, ring);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, ring, NONE);
}

/* case split_without_one ranks=3 */
static void split_without_one(void)
{
    MPI_Comm half;
    if (rank != 0) MPI_Comm_split(W, rank, 0, &half);
    else MPI_Recv(one, 1, MPI_INT, 1, 0, W, NONE);
}

/* case dup_without_one ranks=3 */
static void dup_without_one(void)
{
    MPI_Comm copy;
    if (rank != 0) MPI_Comm_dup(W, &copy);
    else MPI_Recv(one, 1, MPI_INT, 1, 0, W, NONE);
}

/* case create_group_without_one ranks=3 */
static void create_group_without_one(void)
{
    MPI_Group everybody;
    MPI_Comm made;
    MPI_Comm_group(W, &everybody);
    if (rank != 2) MPI_Comm_create_group(W, everybody, 5, &made);
    else MPI_Recv(one, 1, MPI_INT, 1, 0, W, NONE);
}

/* case cart_without_one ranks=3 */
static void cart_without_one(void)
{
    MPI_Comm grid;
    if (rank != 1) MPI_Cart_create(W, 1, &size, &zero, 0, &grid);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case merge_without_one ranks=2 */
static void merge_without_one(void)
{
    MPI_Comm inter, both;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, W, 1 - rank, 0, &inter);
    if (rank == 0) MPI_Intercomm_merge(inter, 0, &both);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, inter, NONE);
}

/* case window_without_one ranks=2 */
static void window_without_one(void)
{
    MPI_Win window;
    if (rank == 0) MPI_Win_create(one, sizeof one, 1, MPI_INFO_NULL, W, &window);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case gather_of_large_data ranks=3 */
static void gather_of_large_data(void)
{
    static int all[3 << 18];
    if (rank == 1) MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
    MPI_Gather(large, 1 << 18, MPI_INT, all, 1 << 18, MPI_INT, 0, W);
    if (rank == 0) MPI_Send(one, 1, MPI_INT, 1, 0, W);
}

/* case finalize_without_one ranks=3 */
static void finalize_without_one(void)
{
    if (rank == 1) MPI_Recv(one, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, NONE);
}

/* case finalize_and_another_barrier ranks=3 */
static void finalize_and_another_barrier(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(W, &copy);
    MPI_Comm_set_name(copy, "copy");
    if (rank != 1) MPI_Barrier(copy);
}

#define CASE(name) {#name, name}
static const struct the_case all[] = {
    CASE(barrier_without_one), CASE(receive_before_broadcast), CASE(allreduce_without_one),
    CASE(crossed_communicators), CASE(unnamed_communicators), CASE(nonblocking_barrier),
    CASE(nonblocking_crossed), CASE(persistent_barrier), CASE(neighbors), CASE(split_without_one),
    CASE(dup_without_one), CASE(create_group_without_one), CASE(cart_without_one), CASE(merge_without_one),
    CASE(window_without_one), CASE(gather_of_large_data), CASE(finalize_without_one),
    CASE(finalize_and_another_barrier), {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
