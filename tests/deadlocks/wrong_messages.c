/* Messages that never match, and waits for each other. A comment before a function says the case's name and what it needs. */
#include "cases.h"

/* case two_receives ranks=2 */
static void two_receives(void)
{
    MPI_Recv(one, 1, MPI_INT, 1 - rank, 0, W, NONE);
    MPI_Send(one, 1, MPI_INT, 1 - rank, 0, W);
}

/* case ring_of_receives ranks=4 */
static void ring_of_receives(void)
{
    MPI_Recv(one, 1, MPI_INT, (rank + 1) % size, 0, W, NONE);
    MPI_Send(one, 1, MPI_INT, (rank + size - 1) % size, 0, W);
}

/* case cycle_of_three ranks=5 */
static void cycle_of_three(void)
{
    int from[] = {2, 0, 1, 0, 3};
    MPI_Recv(one, 2, MPI_DOUBLE, from[rank], rank, W, NONE);
}

/* case receive_from_oneself ranks=2 */
static void receive_from_oneself(void)
{
    if (rank == 1) MPI_Recv(one, 1, MPI_INT, 1, 3, W, NONE);
}

/* case send_to_oneself ranks=2 */
static void send_to_oneself(void)
{
    if (rank == 1) MPI_Ssend(one, 1, MPI_INT, 1, 3, W);
}

/* case another_tag ranks=2 */
static void another_tag(void)
{
    if (rank == 0) MPI_Send(one, 1, MPI_INT, 1, 8, W);
    MPI_Recv(one, 1, MPI_INT, 1 - rank, 7, W, NONE);
}

/* case another_tag_synchronous ranks=2 */
static void another_tag_synchronous(void)
{
    if (rank == 0) MPI_Ssend(one, 3, MPI_FLOAT, 1, 8, W);
    else MPI_Recv(one, 3, MPI_FLOAT, 0, 7, W, NONE);
}

/* case another_communicator ranks=2 */
static void another_communicator(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(W, &copy);
    MPI_Comm_set_name(copy, "copy");
    if (rank == 0) MPI_Ssend(one, 1, MPI_INT, 1, 7, copy);
    else MPI_Recv(one, 1, MPI_INT, 0, 7, W, NONE);
}

/* case another_source ranks=3 */
static void another_source(void)
{
    if (rank == 2) MPI_Ssend(one, 1, MPI_INT, 0, 7, W);
    if (rank == 0) MPI_Recv(one, 1, MPI_INT, 1, 7, W, NONE);
}

/* case wrong_order ranks=2 */
static void wrong_order(void)
{
    for (int i = 0; i < 2; i++)
        if (rank == 0) MPI_Ssend(one, 1, MPI_INT, 1, i, W);
        else MPI_Recv(one, 1, MPI_INT, 0, 1 - i, W, NONE);
}

/* case head_to_head_synchronous ranks=2 */
static void head_to_head_synchronous(void)
{
    MPI_Ssend(one, 1, MPI_INT, 1 - rank, 0, W);
    MPI_Recv(one, 1, MPI_INT, 1 - rank, 0, W, NONE);
}

/* case head_to_head_large ranks=2 */
static void head_to_head_large(void)
{
    MPI_Send(large, 1 << 18, MPI_INT, 1 - rank, 0, W);
    MPI_Recv(large, 1 << 18, MPI_INT, 1 - rank, 0, W, NONE);
}

/* case ring_of_sends ranks=4 */
static void ring_of_sends(void)
{
    MPI_Ssend(one, 1, MPI_INT, (rank + 1) % size, 0, W);
    MPI_Recv(one, 1, MPI_INT, (rank + size - 1) % size, 0, W, NONE);
}

/* case nobody_sends ranks=3 */
static void nobody_sends(void)
{
    if (rank == 0) MPI_Recv(one, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, NONE);
}

/* case one_receive_too_many ranks=2 */
static void one_receive_too_many(void)
{
    for (int i = 0; i < 3 + rank; i++)
        if (rank == 0) MPI_Send(one, 1, MPI_INT, 1, 0, W);
        else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case one_message_too_many ranks=2 */
static void one_message_too_many(void)
{
    for (int i = 0; i < 3 - rank; i++)
        if (rank == 0) MPI_Ssend(one, 1, MPI_INT, 1, 0, W);
        else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case probe_for_nothing ranks=2 */
static void probe_for_nothing(void)
{
    if (rank == 0) MPI_Send(one, 1, MPI_INT, 1, 4, W);
    else MPI_Probe(0, 5, W, NONE);
}

/* case matched_probe ranks=2 */
static void matched_probe(void)
{
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, 1, W, &message, NONE);
}

/* case sendrecv_with_one ranks=3 */
static void sendrecv_with_one(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    if (rank < 2) MPI_Sendrecv(one, 1, MPI_INT, right, 0, two, 1, MPI_INT, left, 0, W, NONE);
}

/* case waitall ranks=2 */
static void waitall(void)
{
    MPI_Request request[3];
    MPI_Irecv(one, 1, MPI_INT, 1 - rank, 1, W, &request[0]);
    MPI_Irecv(two, 1, MPI_INT, 1 - rank, 2, W, &request[1]);
    MPI_Issend(two + 1, 2, MPI_CHAR, 1 - rank, 1 + 2 * rank, W, &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
}

/* case waitany ranks=2 */
static void waitany(void)
{
    MPI_Request request[2];
    int index;
    for (int i = 0; i < 2; i++) MPI_Irecv(one + i, 1, MPI_INT, 1 - rank, i, W, &request[i]);
    MPI_Waitany(2, request, &index, NONE);
}

/* case waitsome ranks=2 */
static void waitsome(void)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int count, indices[2];
    MPI_Irecv(one, 1, MPI_INT, 1 - rank, 5, W, &request[rank]);
    MPI_Waitsome(2, request, &count, indices, MPI_STATUSES_IGNORE);
}

/* case many_requests ranks=2 */
static void many_requests(void)
{
    enum { MANY = 30 };
    static int words[MANY];
    MPI_Request request[MANY];
    for (int i = 0; i < MANY; i++) MPI_Irecv(words + i, 1, MPI_INT, 1 - rank, i, W, &request[i]);
    MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
}

/* case persistent ranks=2 */
static void persistent(void)
{
    MPI_Request request;
    if (rank == 0) MPI_Recv_init(one, 1, MPI_INT, 1, 6, W, &request);
    else MPI_Ssend_init(one, 1, MPI_INT, 0, 5, W, &request);
    MPI_Start(&request);
    MPI_Wait(&request, NONE);
}

/* case partition_not_ready ranks=2 */
static void partition_not_ready(void)
{
    MPI_Request request;
    if (rank == 0) MPI_Psend_init(one, 4, 1, MPI_INT, 1, 9, W, MPI_INFO_NULL, &request);
    else MPI_Precv_init(one, 4, 1, MPI_INT, 0, 9, W, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0)
        for (int i = 0; i < 3; i++) MPI_Pready(i, request);
    MPI_Wait(&request, NONE);
}

/* case cancelled_send ranks=2 */
static void cancelled_send(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(one, 1, MPI_INT, 1, 2, W, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, NONE);
        MPI_Barrier(W);
    } else {
        MPI_Barrier(W);
        MPI_Recv(one, 1, MPI_INT, 0, 2, W, NONE);
    }
}

/* case derived_datatype ranks=2 */
static void derived_datatype(void)
{
    MPI_Datatype pair, named;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_dup(pair, &named);
    MPI_Type_set_name(named, "my pair");
    MPI_Recv(one, 1, rank ? pair : named, 1 - rank, 0, W, NONE);
}

/* case rank_has_ended ranks=3 */
static void rank_has_ended(void)
{
    if (rank == 1) MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case split_halves ranks=4 */
static void split_halves(void)
{
    MPI_Comm half;
    int place;
    MPI_Comm_split(W, rank % 2, rank, &half);
    MPI_Comm_rank(half, &place);
    MPI_Recv(one, 1, MPI_INT, 1 - place, 0, half, NONE);
}

/* case between_groups ranks=4 */
static void between_groups(void)
{
    MPI_Comm half, inter;
    MPI_Comm_split(W, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, W, 1 - rank % 2, 0, &inter);
    MPI_Recv(one, 1, MPI_INT, rank / 2, 0, inter, NONE);
}

/* case generalized_request ranks=2 */
static int query(void *state, MPI_Status *status) { (void)state; (void)status; return MPI_SUCCESS; }
static int free_it(void *state) { (void)state; return MPI_SUCCESS; }
static int cancel(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }
static void generalized_request(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, free_it, cancel, NULL, &request);
    if (rank == 0) MPI_Wait(&request, NONE);
    else MPI_Recv(one, 1, MPI_INT, 0, 0, W, NONE);
}

/* case posted_but_not_awaited ranks=2 */
static void posted_but_not_awaited(void)
{
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(one, 1, MPI_INT, 0, 5, W, &request);
        MPI_Barrier(W);
    } else {
        MPI_Ssend(one, 1, MPI_INT, 1, 4, W);
        MPI_Barrier(W);
    }
}

#define CASE(name) {#name, name}
static const struct the_case all[] = {
    CASE(two_receives), CASE(ring_of_receives), CASE(cycle_of_three), CASE(receive_from_oneself),
    CASE(send_to_oneself), CASE(another_tag), CASE(another_tag_synchronous), CASE(another_communicator),
    CASE(another_source), CASE(wrong_order), CASE(head_to_head_synchronous), CASE(head_to_head_large),
    CASE(ring_of_sends), CASE(nobody_sends), CASE(one_receive_too_many), CASE(one_message_too_many),
    CASE(probe_for_nothing), CASE(matched_probe), CASE(sendrecv_with_one), CASE(waitall), CASE(waitany),
    CASE(waitsome), CASE(many_requests), CASE(persistent), CASE(partition_not_ready), CASE(cancelled_send),
    CASE(derived_datatype), CASE(rank_has_ended), CASE(split_halves), CASE(between_groups),
    CASE(generalized_request), CASE(posted_but_not_awaited), {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
