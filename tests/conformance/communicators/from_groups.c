// Communicators from groups alone: MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups.
#include "check.h"

static int size;

static void use(MPI_Comm comm, int expected_size, int expected_rank, int expected_sum) {
  int n, rank, sum = 0;
  MPI_Comm_size(comm, &n), MPI_Comm_rank(comm, &rank);
  CHECK_EQUAL(n, expected_size);
  CHECK_EQUAL(rank, expected_rank);
  CHECK_OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, expected_sum);
}

static int handled;
static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code, handled++; }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Group world, reversed, part, rest;
  MPI_Comm comm, other, inter;
  char tag[MPI_MAX_STRINGTAG_LEN + 8];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[1][3]){{size - 1, 0, -1}}, &reversed);
  int all = size * (size - 1) / 2;

  CHECK_OK(MPI_Comm_create_from_group(reversed, "org.example.all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  use(comm, size, size - 1 - check_rank, all);
  // Again with the same tag, and others at the same time with other tags.
  CHECK_OK(MPI_Comm_create_from_group(reversed, "org.example.all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
  int result;
  CHECK_OK(MPI_Comm_compare(comm, other, &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  int a = 1, b = 2, got_a = 0, got_b = 0, right = (check_rank + 1) % size, left = (check_rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Isend(&a, 1, MPI_INT, size - 1 - right, 0, comm, &requests[0]);
  MPI_Isend(&b, 1, MPI_INT, size - 1 - right, 0, other, &requests[1]);
  CHECK_OK(MPI_Recv(&got_b, 1, MPI_INT, size - 1 - left, 0, other, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Recv(&got_a, 1, MPI_INT, size - 1 - left, 0, comm, MPI_STATUS_IGNORE));
  CHECK(got_a == 1 && got_b == 2);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  // The error handler is the one of the call.
  CHECK_CLASS(MPI_Send(&a, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  CHECK_OK(MPI_Comm_free(&other));
  CHECK_OK(MPI_Comm_free(&comm));

  // Only the members call; the longest tag; hints and a handler of one's own.
  MPI_Group_range_incl(world, 1, (int[1][3]){{0, size - 1, 2}}, &part);
  memset(tag, 't', sizeof tag);
  tag[MPI_MAX_STRINGTAG_LEN - 1] = 0;
  MPI_Info info, used;
  MPI_Errhandler errhandler;
  char value[8];
  int length = sizeof value, flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_exact_length", "true");
  CHECK_OK(MPI_Comm_create_errhandler(handler, &errhandler));
  if (check_rank % 2 == 0) {
    int members = (size + 1) / 2;
    CHECK_OK(MPI_Comm_create_from_group(part, tag, info, errhandler, &comm));
    use(comm, members, check_rank / 2, members * (members - 1));
    CHECK_OK(MPI_Comm_get_info(comm, &used));
    CHECK_OK(MPI_Info_get_string(used, "mpi_assert_exact_length", &length, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0);
    MPI_Info_free(&used);
    CHECK(MPI_Send(&a, 1, MPI_INT, members, 0, comm) != MPI_SUCCESS);
    CHECK_EQUAL(handled, 1);
    CHECK_OK(MPI_Comm_free(&comm));
  } else {
    CHECK_CLASS(MPI_Comm_create_from_group(part, tag, info, errhandler, &comm), MPI_ERR_GROUP);
  }
  MPI_Errhandler_free(&errhandler), MPI_Info_free(&info);
  // One character more.
  memset(tag, 't', sizeof tag);
  tag[MPI_MAX_STRINGTAG_LEN] = 0;
  CHECK_CLASS(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_ERR_ARG);
  CHECK_OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK(comm == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_create_from_group(world, "x", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm), MPI_ERR_ERRHANDLER);

  // A rank may run ahead of the others: three in a row before anybody else begins.
  MPI_Comm row[3];
  if (check_rank > 0) CHECK_OK(MPI_Recv(&a, 1, MPI_INT, check_rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 3; i++) CHECK_OK(MPI_Comm_create_from_group(world, "row", MPI_INFO_NULL, MPI_ERRORS_RETURN, &row[i]));
  if (check_rank + 1 < size) CHECK_OK(MPI_Send(&a, 1, MPI_INT, check_rank + 1, 5, MPI_COMM_WORLD));
  for (int i = 2; i >= 0; i--) {
    use(row[i], size, check_rank, all);
    CHECK_OK(MPI_Comm_free(&row[i]));
  }

  // Intercommunicators: the evens and the odds; only the leaders name the other group.
  int side = check_rank % 2, own = side ? size / 2 : (size + 1) / 2, there = size - own, lead = own / 2;
  MPI_Group_free(&part);
  MPI_Group_range_incl(world, 1, (int[1][3]){{0, size - 1, 2}}, &part);
  MPI_Group_difference(world, part, &rest);
  MPI_Group mine = side ? rest : part, theirs = side ? part : rest;
  if (size > 1) {
    int rank, n;
    for (int round = 0; round < 3; round++) {
      int leads = check_rank / 2 == lead;
      CHECK_OK(MPI_Intercomm_create_from_groups(mine, lead, leads ? theirs : MPI_GROUP_NULL, leads ? there / 2 : -7,
                                                "bridge", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
      CHECK_OK(MPI_Comm_test_inter(inter, &flag));
      CHECK_EQUAL(flag, 1);
      MPI_Comm_rank(inter, &rank), MPI_Comm_size(inter, &n);
      CHECK(rank == check_rank / 2 && n == own);
      MPI_Comm_remote_size(inter, &n);
      CHECK_EQUAL(n, there);
      CHECK_CLASS(MPI_Send(&a, 1, MPI_INT, there, 0, inter), MPI_ERR_RANK);
      CHECK_OK(MPI_Intercomm_merge(inter, side, &comm));
      use(comm, size, side ? there + check_rank / 2 : check_rank / 2, all);
      MPI_Comm_free(&comm);
      CHECK_OK(MPI_Comm_free(&inter));
    }
    // What is wrong with the leader's arguments is reported by its whole side.
    int leads = check_rank / 2 == 0;
    CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, 0, leads ? theirs : MPI_GROUP_NULL, leads ? there : 0, "wrong",
                                                 MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, 0, leads ? world : MPI_GROUP_NULL, 0, "wrong", MPI_INFO_NULL,
                                                 MPI_ERRORS_RETURN, &inter), MPI_ERR_GROUP);
    CHECK_OK(MPI_Intercomm_create_from_groups(mine, 0, MPI_GROUP_EMPTY, 0, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
    CHECK(inter == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Intercomm_create_from_groups(theirs, 0, mine, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter),
                MPI_ERR_GROUP);
  }
  CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, own, theirs, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter),
              MPI_ERR_RANK);
  CHECK_OK(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, mine, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
  CHECK(inter == MPI_COMM_NULL);
  if (rest != MPI_GROUP_EMPTY) MPI_Group_free(&rest);
  MPI_Group_free(&part), MPI_Group_free(&reversed), MPI_Group_free(&world);
  return check_end();
}
