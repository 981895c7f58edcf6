// Intercommunicators: creation, both groups, point-to-point with ranks of the other side, probes, status, comparison,
// duplicates, names, attributes, error handlers, merging, and what is refused.
#include "check.h"

static int size, side, local_rank, local_size, remote_size;

// The other side's rank `r` in MPI_COMM_WORLD: the evens are one side, the odds the other, both in reverse order.
static int world_of(int which, int r) {
  int members = (size + 1 - which) / 2;
  return 2 * (members - 1 - r) + which;
}

static void groups(MPI_Comm inter) {
  int flag, n, rank;
  MPI_Group world, own, other;
  CHECK_OK(MPI_Comm_test_inter(inter, &flag));
  CHECK_EQUAL(flag, 1);
  CHECK_OK(MPI_Comm_size(inter, &n));
  CHECK_EQUAL(n, local_size);
  CHECK_OK(MPI_Comm_rank(inter, &rank));
  CHECK_EQUAL(rank, local_rank);
  CHECK_OK(MPI_Comm_remote_size(inter, &n));
  CHECK_EQUAL(n, remote_size);
  CHECK_OK(MPI_Comm_group(inter, &own));
  CHECK_OK(MPI_Comm_remote_group(inter, &other));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int r = 0; r < local_size; r++) {
    CHECK_OK(MPI_Group_translate_ranks(own, 1, &r, world, &n));
    CHECK_EQUAL(n, world_of(side, r));
  }
  for (int r = 0; r < remote_size; r++) {
    CHECK_OK(MPI_Group_translate_ranks(other, 1, &r, world, &n));
    CHECK_EQUAL(n, world_of(!side, r));
  }
  CHECK_OK(MPI_Group_rank(other, &rank));
  CHECK_EQUAL(rank, MPI_UNDEFINED);
  CHECK_OK(MPI_Group_size(other, &n));
  CHECK_EQUAL(n, remote_size);
  MPI_Group_free(&own), MPI_Group_free(&other), MPI_Group_free(&world);
}

// Everybody sends to every rank of the other side and receives from there, by name and by wildcard.
static void messages(MPI_Comm inter, int salt) {
  MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * remote_size);
  int *out = malloc(sizeof(int) * 3 * remote_size), *in = malloc(sizeof(int) * 3 * remote_size);
  for (int r = 0; r < remote_size; r++) {
    out[3 * r] = check_rank, out[3 * r + 1] = r, out[3 * r + 2] = salt;
    CHECK_OK(MPI_Isend(out + 3 * r, 3, MPI_INT, r, 5, inter, &requests[r]));
    CHECK_OK(MPI_Irecv(in + 3 * r, 3, MPI_INT, r, 5, inter, &requests[remote_size + r]));
  }
  MPI_Status *statuses = malloc(sizeof(MPI_Status) * 2 * remote_size);
  CHECK_OK(MPI_Waitall(2 * remote_size, requests, statuses));
  for (int r = 0; r < remote_size; r++) {
    CHECK_EQUAL(in[3 * r], world_of(!side, r));
    CHECK_EQUAL(in[3 * r + 1], local_rank);
    CHECK_EQUAL(in[3 * r + 2], salt);
    CHECK_EQUAL(statuses[remote_size + r].MPI_SOURCE, r);
  }
  for (int r = 0; r < remote_size; r++) CHECK_OK(MPI_Isend(out + 3 * r, 3, MPI_INT, r, 6, inter, &requests[r]));
  for (int k = 0; k < remote_size; k++) {
    MPI_Status probed, received;
    int count;
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, 6, inter, &probed));
    CHECK_OK(MPI_Get_count(&probed, MPI_INT, &count));
    CHECK_EQUAL(count, 3);
    CHECK(probed.MPI_SOURCE >= 0 && probed.MPI_SOURCE < remote_size);
    CHECK_OK(MPI_Recv(in, 3, MPI_INT, probed.MPI_SOURCE, MPI_ANY_TAG, inter, &received));
    CHECK_EQUAL(received.MPI_SOURCE, probed.MPI_SOURCE);
    CHECK_EQUAL(in[0], world_of(!side, received.MPI_SOURCE));
    CHECK_EQUAL(received.MPI_TAG, 6);
  }
  CHECK_OK(MPI_Waitall(remote_size, requests, MPI_STATUSES_IGNORE));
  // A rank past the other side's last is wrong even if it exists on this side.
  int past = remote_size;
  CHECK_CLASS(MPI_Send(out, 1, MPI_INT, past, 5, inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(in, 1, MPI_INT, past, 5, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  free(requests), free(out), free(in), free(statuses);
}

static int copies, deletions;
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval, (void)extra;
  copies++, *(void **)out = in, *flag = 1;
  return MPI_SUCCESS;
}
static int delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  deletions++;
  return MPI_SUCCESS;
}
static int handled;
static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handled++; }

static void merge(MPI_Comm inter, int low_high, int expected_first) {
  MPI_Comm all;
  int rank, n, high = side == 0 ? low_high & 1 : low_high >> 1, first = expected_first;
  CHECK_OK(MPI_Intercomm_merge(inter, high, &all));
  MPI_Comm_rank(all, &rank), MPI_Comm_size(all, &n);
  CHECK_EQUAL(n, size);
  int flag;
  MPI_Comm_test_inter(all, &flag);
  CHECK_EQUAL(flag, 0);
  if (first < 0) {
    // The order is the library's choice, but all must see the same one, with the sides one after the other.
    first = side ^ (rank >= local_size || (rank >= remote_size && rank != local_rank));
    int mine = rank == local_rank ? side : !side, everybody[2] = {mine, -mine}, least[2];
    CHECK_OK(MPI_Allreduce(everybody, least, 2, MPI_INT, MPI_MIN, all));
    CHECK(least[0] == -least[1] || local_size == 0);
    first = least[0];
  }
  CHECK_EQUAL(rank, side == first ? local_rank : remote_size + local_rank);
  int sum = 0;
  CHECK_OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, all));
  CHECK_EQUAL(sum, size * (size - 1) / 2);
  CHECK_OK(MPI_Comm_free(&all));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  side = check_rank % 2;
  MPI_Comm local, inter, again, other;
  int n, flag, result;
  MPI_Group group;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, side, -check_rank, &local));
  CHECK_OK(MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN));
  MPI_Comm_rank(local, &local_rank), MPI_Comm_size(local, &local_size);
  remote_size = size - local_size;

  // Not an intercommunicator.
  CHECK_CLASS(MPI_Comm_remote_size(local, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_remote_group(local, &group), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Intercomm_merge(local, 0, &again), MPI_ERR_COMM);
  // Wrong arguments, found before anybody waits.
  CHECK_CLASS(MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 3, &inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Intercomm_create(local, local_size, MPI_COMM_WORLD, 0, 3, &inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(local, MPI_ANY_SOURCE, MPI_COMM_WORLD, 0, 3, &inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 0, MPI_ANY_TAG, &inter), MPI_ERR_TAG);
  // What only the leader passes is reported to its whole side.
  CHECK_CLASS(MPI_Intercomm_create(local, 0, local_rank ? MPI_COMM_WORLD : MPI_COMM_NULL, 0, 3, &inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, local_rank ? 0 : size, 3, &inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, MPI_PROC_NULL, 3, &inter), MPI_ERR_RANK);
  // Groups that overlap: the other leader is one of us.
  CHECK_CLASS(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, world_of(side, local_size - 1), 3, &inter), MPI_ERR_COMM);
  CHECK(inter == MPI_COMM_NULL);
  if (size == 1) {
    CHECK_OK(MPI_Comm_free(&local));
    return check_end();
  }

  // Any leaders; a message of the program with the same tag does not get in the way.
  int leader = local_size / 2, peer = world_of(!side, remote_size / 2);
  MPI_Request request;
  int token = 7, answer;
  if (local_rank == leader) CHECK_OK(MPI_Isend(&token, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Intercomm_create(local, leader, local_rank == leader ? MPI_COMM_WORLD : MPI_COMM_NULL,
                                local_rank == leader ? peer : -100, 3, &inter));
  if (local_rank == leader) {
    CHECK_OK(MPI_Recv(&answer, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  groups(inter);
  messages(inter, 1);

  // Comparison: with itself, a duplicate, an intracommunicator.
  CHECK_OK(MPI_Comm_compare(inter, inter, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Comm_compare(inter, local, &result));
  CHECK_EQUAL(result, MPI_UNEQUAL);
  CHECK_OK(MPI_Comm_dup(inter, &again));
  CHECK_OK(MPI_Comm_compare(inter, again, &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  groups(again);
  // Messages of the two are kept apart, in whatever order they are received.
  int values[2] = {10 + check_rank, 20 + check_rank}, got[2] = {0, 0};
  MPI_Request pair[2];
  CHECK_OK(MPI_Isend(&values[0], 1, MPI_INT, local_rank % remote_size, 1, inter, &pair[0]));
  CHECK_OK(MPI_Isend(&values[1], 1, MPI_INT, local_rank % remote_size, 1, again, &pair[1]));
  for (int from = local_rank; from < remote_size; from += local_size) {
    CHECK_OK(MPI_Recv(&got[1], 1, MPI_INT, from, 1, again, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv(&got[0], 1, MPI_INT, from, 1, inter, MPI_STATUS_IGNORE));
    CHECK(got[0] == 10 + world_of(!side, from) && got[1] == 20 + world_of(!side, from));
  }
  CHECK_OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  // The other side, sorted the other way round: similar.
  CHECK_OK(MPI_Comm_split(local, 0, -local_rank, &other));
  MPI_Comm reversed;
  CHECK_OK(MPI_Intercomm_create(other, 0, MPI_COMM_WORLD, !side, 9, &reversed));
  CHECK_OK(MPI_Comm_compare(inter, reversed, &result));
  CHECK_EQUAL(result, size > 2 ? MPI_SIMILAR : MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_free(&other));
  CHECK_OK(MPI_Comm_free(&reversed));
  CHECK(reversed == MPI_COMM_NULL);

  // Attributes, names and error handlers hang on them as on others; a duplicate inherits the first and the last.
  int keyval;
  void *value;
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Errhandler errhandler;
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
  CHECK_OK(MPI_Comm_set_attr(inter, keyval, &size));
  CHECK_OK(MPI_Comm_set_name(inter, "the bridge"));
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  CHECK_OK(MPI_Comm_set_errhandler(inter, errhandler));
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_OK(MPI_Comm_dup(inter, &again));
  CHECK_EQUAL(copies, 1);
  CHECK_OK(MPI_Comm_get_attr(again, keyval, &value, &flag));
  CHECK(flag && value == &size);
  CHECK_OK(MPI_Comm_get_name(again, name, &n));
  CHECK_EQUAL(n, 0);
  CHECK(MPI_Send(&n, 1, MPI_INT, remote_size, 0, again) != MPI_SUCCESS);
  CHECK_EQUAL(handled, 1);
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_EQUAL(deletions, 1);

  CHECK_OK(MPI_Comm_idup(inter, &again, &request));
  CHECK_EQUAL(copies, 2);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_set_errhandler(again, MPI_ERRORS_RETURN));
  groups(again);
  messages(again, 2);
  CHECK_OK(MPI_Comm_free(&again));

  merge(inter, 2, 0);
  merge(inter, 1, 1);
  merge(inter, 0, -1);
  merge(inter, 3, -1);

  // What needs an intracommunicator says so; collectives that are not there yet do not crash.
  CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_group(inter, &group));
  CHECK_CLASS(MPI_Comm_create_group(inter, group, 0, &again), MPI_ERR_COMM);
  CHECK_OK(MPI_Group_free(&group));
  CHECK_CLASS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &again), MPI_ERR_COMM);

  int code, class, sum = 0, root = side ? (local_rank ? MPI_PROC_NULL : MPI_ROOT) : 0;
  code = MPI_Barrier(inter), MPI_Error_class(code, &class);
  CHECK(class == MPI_SUCCESS || class == MPI_ERR_UNSUPPORTED_OPERATION);
  code = MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, inter), MPI_Error_class(code, &class);
  CHECK(class == MPI_SUCCESS || class == MPI_ERR_UNSUPPORTED_OPERATION);
  code = MPI_Bcast(&sum, 1, MPI_INT, root, inter), MPI_Error_class(code, &class);
  CHECK(class == MPI_SUCCESS || class == MPI_ERR_UNSUPPORTED_OPERATION);

  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK_OK(MPI_Errhandler_free(&errhandler));
  CHECK_OK(MPI_Comm_disconnect(&inter));
  CHECK_EQUAL(deletions, 3);
  CHECK_OK(MPI_Comm_free(&local));
  return check_end();
}
