// Hints of communicators: defaults, what is kept and what is ignored, updates, and that duplicates do not inherit them.
#include "check.h"

static const char *assertions[] = {
    "mpi_assert_no_any_tag",      "mpi_assert_no_any_source",
    "mpi_assert_exact_length",    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};
enum { COUNT = sizeof assertions / sizeof *assertions };

// Checks the value of a key; NULL for a key that must not be there.
static void expect(int line, MPI_Comm comm, const char *key, const char *expected) {
  MPI_Info used;
  char value[128] = "";
  int flag = 0, length = sizeof value;
  CHECK_OK(MPI_Comm_get_info(comm, &used));
  CHECK(used != MPI_INFO_NULL);
  CHECK_OK(MPI_Info_get_string(used, key, &length, value, &flag));
  if (flag != (expected != NULL) || (flag && strcmp(value, expected) != 0)) {
    fprintf(stderr, "info.c:%d: rank %d: %s is %s, not %s\n", line, check_rank, key, flag ? value : "absent",
            expected ? expected : "absent");
    check_failures++;
  }
  CHECK_OK(MPI_Info_free(&used));
}
#define EXPECT(comm, key, value) expect(__LINE__, comm, key, value)

static MPI_Info make(const char *key, const char *value) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, key, value));
  return info;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm comm, child, parts[4];
  MPI_Info info;
  MPI_Request request;
  MPI_Group group;
  // Every hint has a default on every communicator.
  for (int i = 0; i < COUNT; i++) {
    EXPECT(MPI_COMM_WORLD, assertions[i], "false");
    EXPECT(MPI_COMM_SELF, assertions[i], "false");
  }
  EXPECT(MPI_COMM_WORLD, "mpi_assert_memory_alloc_kinds", NULL);

  // Given with the duplicate; changing the info afterwards changes nothing.
  info = make("mpi_assert_no_any_tag", "true");
  CHECK_OK(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
  CHECK_OK(MPI_Info_set(info, "colour", "red"));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_allow_overtaking", "perhaps"));
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
  CHECK_OK(MPI_Info_free(&info));
  EXPECT(comm, "mpi_assert_no_any_tag", "true");
  EXPECT(comm, "mpi_assert_exact_length", "true");
  EXPECT(comm, "mpi_assert_no_any_source", "false");
  // What is unknown or makes no sense is ignored.
  EXPECT(comm, "mpi_assert_allow_overtaking", "false");
  EXPECT(comm, "colour", NULL);
  EXPECT(MPI_COMM_WORLD, "mpi_assert_no_any_tag", "false");

  // An update concerns the keys it names, and is itself undone by another.
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  info = make("mpi_assert_no_any_source", "true");
  CHECK_OK(MPI_Comm_set_info(comm, info));
  CHECK_OK(MPI_Info_free(&info));
  EXPECT(comm, "mpi_assert_no_any_source", "true");
  EXPECT(comm, "mpi_assert_no_any_tag", "true");
  info = make("mpi_assert_no_any_tag", "false");
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_source", "nonsense"));
  CHECK_OK(MPI_Comm_set_info(comm, info));
  EXPECT(comm, "mpi_assert_no_any_tag", "false");
  EXPECT(comm, "mpi_assert_no_any_source", "true");
  EXPECT(comm, "mpi_assert_exact_length", "true");
  CHECK_OK(MPI_Info_free(&info));

  // Hints do not pass from one communicator to another.
  CHECK_OK(MPI_Comm_dup(comm, &child));
  EXPECT(child, "mpi_assert_no_any_source", "false");
  EXPECT(child, "mpi_assert_exact_length", "false");
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &child));
  EXPECT(child, "mpi_assert_exact_length", "false");
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_idup(comm, &parts[0], &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_split(comm, 0, 0, &parts[1]));
  CHECK_OK(MPI_Comm_group(comm, &group));
  CHECK_OK(MPI_Comm_create(comm, group, &parts[2]));
  CHECK_OK(MPI_Comm_create_group(comm, group, 0, &parts[3]));
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < COUNT; k++) EXPECT(parts[i], assertions[k], "false");
    CHECK_OK(MPI_Comm_free(&parts[i]));
  }
  // Those given to a split are for its parts.
  info = make("mpi_assert_allow_overtaking", "true");
  CHECK_OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, info, &child));
  EXPECT(child, "mpi_assert_allow_overtaking", "true");
  EXPECT(comm, "mpi_assert_allow_overtaking", "false");
  CHECK_OK(MPI_Comm_free(&child));
  MPI_Info freed = info;
  CHECK_OK(MPI_Info_free(&info));

  CHECK_CLASS(MPI_Comm_set_info(comm, freed), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Comm_dup_with_info(comm, freed, &child), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Comm_idup_with_info(comm, freed, &child, &request), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, freed, &child), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Comm_get_info(MPI_COMM_NULL, &info), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_set_info(MPI_COMM_NULL, MPI_INFO_NULL), MPI_ERR_COMM);
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
