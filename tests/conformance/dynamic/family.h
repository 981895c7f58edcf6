// What parents and children do with the communicator between them, each side the same.
#ifndef WEFT_FAMILY_H
#define WEFT_FAMILY_H
#include "check.h"

// Returns errors on a communicator, and the calling rank there.
static inline int family_rank(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  return rank;
}

// Messages of all lengths in both directions between ranks of the same number.
static inline void family_messages(MPI_Comm inter) {
  int mine, others, rank = family_rank(inter);
  CHECK_OK(MPI_Comm_size(inter, &mine));
  CHECK_OK(MPI_Comm_remote_size(inter, &others));
  if (rank >= others) return;
  for (int length = 0; length <= 3000000; length = length * 11 + 1) {
    char *out = malloc(length + 1), *in = malloc(length + 1);
    memset(out, length % 251, length + 1);
    MPI_Status status;
    CHECK_OK(MPI_Sendrecv(out, length, MPI_CHAR, rank, 3, in, length, MPI_CHAR, rank, 3, inter, &status));
    int count = -1;
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK_EQUAL(count, length);
    CHECK_EQUAL(status.MPI_SOURCE, rank);
    CHECK(length == 0 || memcmp(in, out, length) == 0);
    CHECK_OK(MPI_Sendrecv(out, length, MPI_CHAR, rank, 4, in, length, MPI_CHAR, MPI_ANY_SOURCE, 4, inter, &status));
    CHECK(length == 0 || memcmp(in, out, length) == 0);
    free(out), free(in);
  }
}

// Collective operations between the sides.
static inline void family_collectives(MPI_Comm inter) {
  int mine, others, rank = family_rank(inter);
  CHECK_OK(MPI_Comm_size(inter, &mine));
  CHECK_OK(MPI_Comm_remote_size(inter, &others));
  int value = rank + 1, sum = -1;
  CHECK_OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK_EQUAL(sum, others * (others + 1) / 2);
  CHECK_OK(MPI_Barrier(inter));
  int *all = malloc(others * sizeof *all);
  CHECK_OK(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter));
  for (int i = 0; i < others; i++) CHECK_EQUAL(all[i], i);
  free(all);
}

// The same on one communicator of both sides and on what is made from it.
// Parts of a message to the next rank, twice.
static inline void family_parts(MPI_Comm comm) {
  int me, members, sent[6], got[6];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &members);
  MPI_Request requests[2];
  CHECK_OK(MPI_Psend_init(sent, 3, 2, MPI_INT, (me + 1) % members, 1, comm, MPI_INFO_NULL, &requests[0]));
  CHECK_OK(MPI_Precv_init(got, 2, 3, MPI_INT, (me + members - 1) % members, 1, comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 6; i++) sent[i] = 100 * me + 10 * round + i, got[i] = -1;
    CHECK_OK(MPI_Startall(2, requests));
    for (int part = 2; part >= 0; part--) CHECK_OK(MPI_Pready(part, requests[0]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 6; i++) CHECK_EQUAL(got[i], 100 * ((me + members - 1) % members) + 10 * round + i);
  }
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[1]));
}

static inline void family_merged(MPI_Comm inter, int high) {
  int mine, others, size, rank;
  CHECK_OK(MPI_Comm_size(inter, &mine));
  CHECK_OK(MPI_Comm_remote_size(inter, &others));
  MPI_Comm merged, made[4];
  CHECK_OK(MPI_Intercomm_merge(inter, high, &merged));
  rank = family_rank(merged);
  MPI_Comm_size(merged, &size);
  CHECK_EQUAL(size, mine + others);
  CHECK(high ? rank >= others : rank < mine);
  MPI_Group group, odd;
  CHECK_OK(MPI_Comm_group(merged, &group));
  int range[1][3] = {{0, size - 1, 2}};
  CHECK_OK(MPI_Group_range_incl(group, 1, range, &odd));
  CHECK_OK(MPI_Comm_dup(merged, &made[0]));
  CHECK_OK(MPI_Comm_split(merged, rank % 2, -rank, &made[1]));
  CHECK_OK(MPI_Comm_create(merged, odd, &made[2]));
  made[3] = MPI_COMM_NULL;
  if (rank % 2 == 0) CHECK_OK(MPI_Comm_create_group(merged, odd, 5, &made[3]));
  for (int i = -1; i < 4; i++) {
    MPI_Comm comm = i < 0 ? merged : made[i];
    if (comm == MPI_COMM_NULL) continue;
    int one = 1, sum = 0, members, me = family_rank(comm), root = -1;
    MPI_Comm_size(comm, &members);
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, members);
    // Around the ring, whoever is next.
    int in = -1;
    CHECK_OK(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % members, 0, &in, 1, MPI_INT, (me + members - 1) % members, 0,
                          comm, MPI_STATUS_IGNORE));
    CHECK_EQUAL(in, (me + members - 1) % members);
    root = me == members - 1 ? 77 : 0;
    CHECK_OK(MPI_Bcast(&root, 1, MPI_INT, members - 1, comm));
    CHECK_EQUAL(root, 77);
    double *large = malloc(40000 * sizeof *large);
    for (int j = 0; j < 40000; j++) large[j] = me + j;
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, large, 40000, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(large[9] == members * (members - 1) / 2.0 + 9.0 * members);
    free(large);
    family_parts(comm);
  }
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Group_free(&odd));
  for (int i = 0; i < 4; i++)
    if (made[i] != MPI_COMM_NULL) CHECK_OK(MPI_Comm_disconnect(&made[i]));
  CHECK_OK(MPI_Comm_disconnect(&merged));
}

// All of it, on the communicator and on a duplicate.
static inline void family_life(MPI_Comm inter, int high) {
  MPI_Comm twin;
  int flag = 0;
  family_rank(inter);
  CHECK_OK(MPI_Comm_test_inter(inter, &flag));
  CHECK(flag);
  family_messages(inter);
  family_collectives(inter);
  CHECK_OK(MPI_Comm_dup(inter, &twin));
  family_collectives(twin);
  family_merged(twin, high);
  CHECK_OK(MPI_Comm_disconnect(&twin));
}
#endif
