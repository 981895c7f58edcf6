// Communicators that come from a session: created from its process sets, split by process set, intercommunicators,
// duplicates; all without MPI_Init.
// weft-test: needs=MPI_Group_from_session_pset
#include "check.h"

static MPI_Session session;

static void set(MPI_Info *info, const char *name) {
  MPI_Info_create(info);
  MPI_Info_set(*info, "mpi_pset_name", name);
}

int main(void) {
  MPI_Group world, self, half;
  MPI_Comm all, part, inter, merged;
  MPI_Info info;
  int size, flag, n, result;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  MPI_Group_rank(world, &check_rank);
  MPI_Group_size(world, &size);
  CHECK_OK(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
  // The bound of tags is there without the world model.
  int *upper;
  CHECK_OK(MPI_Comm_get_attr(all, MPI_TAG_UB, &upper, &flag));
  CHECK(flag && *upper >= 32767);
  // The others hang on MPI_COMM_WORLD, which is not there.
  int world_only[] = {MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE, MPI_IO};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(MPI_Comm_get_attr(all, world_only[i], &upper, &flag));
    CHECK_EQUAL(flag, 0);
  }

  // Split by process set: everybody, or each one alone; sets that do not exist give nothing.
  set(&info, "mpi://WORLD");
  CHECK_OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_RESOURCE_GUIDED, -check_rank, info, &part));
  CHECK(part != MPI_COMM_NULL);
  CHECK_OK(MPI_Comm_compare(all, part, &result));
  CHECK_EQUAL(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  CHECK_OK(MPI_Comm_free(&part));
  MPI_Info_free(&info);
  set(&info, "mpi://SELF");
  CHECK_OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
  CHECK(part != MPI_COMM_NULL);
  MPI_Comm_size(part, &n);
  CHECK_EQUAL(n, 1);
  CHECK_OK(MPI_Comm_free(&part));
  // The key is of this kind of split alone.
  CHECK_OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
  CHECK(part == MPI_COMM_NULL);
  MPI_Info_free(&info);
  set(&info, "app://nobody");
  CHECK_OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
  CHECK(part == MPI_COMM_NULL);
  MPI_Info_free(&info);

  // What is derived from it comes from the session, too.
  MPI_Request request;
  CHECK_OK(MPI_Comm_idup(all, &part, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Comm again;
  set(&info, "mpi://WORLD");
  CHECK_OK(MPI_Comm_split_type(part, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &again));
  CHECK_OK(MPI_Comm_compare(all, again, &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_OK(MPI_Comm_free(&part));

  // The two halves, bridged and merged; the merged communicator still comes from the session.
  if (size > 1) {
    int low = size / 2, side = check_rank >= low;
    CHECK_OK(MPI_Group_range_incl(world, 1, (int[1][3]){{side ? low : 0, side ? size - 1 : low - 1, 1}}, &half));
    MPI_Group other;
    CHECK_OK(MPI_Group_difference(world, half, &other));
    CHECK_OK(MPI_Intercomm_create_from_groups(half, 0, other, 0, "halves", MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter));
    CHECK_OK(MPI_Comm_remote_size(inter, &n));
    CHECK_EQUAL(n, side ? low : size - low);
    CHECK_OK(MPI_Intercomm_merge(inter, side, &merged));
    CHECK_OK(MPI_Comm_compare(all, merged, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_split_type(merged, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &again));
    CHECK(again != MPI_COMM_NULL);
    if (again != MPI_COMM_NULL) MPI_Comm_free(&again);
    CHECK_OK(MPI_Comm_free(&merged));
    // Leaders may meet in a communicator of the session.
    CHECK_OK(MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part));
    CHECK_OK(MPI_Intercomm_create(part, 0, all, side ? 0 : low, 1, &again));
    CHECK_OK(MPI_Comm_compare(inter, again, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_free(&again));
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Comm_free(&inter));
    MPI_Group_free(&half), MPI_Group_free(&other);
  }
  MPI_Info_free(&info);
  int failures = 0;
  MPI_Allreduce(&check_failures, &failures, 1, MPI_INT, MPI_SUM, all);
  CHECK_OK(MPI_Comm_disconnect(&all));
  MPI_Group_free(&world), MPI_Group_free(&self);
  CHECK_OK(MPI_Session_finalize(&session));
  return failures != 0;
}
