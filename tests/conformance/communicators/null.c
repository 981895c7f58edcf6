// MPI_COMM_NULL, a freed handle and a handle of another kind are refused with MPI_ERR_COMM by every call of the chapter.
#include "check.h"

static MPI_Comm bad;
#define REFUSED(call) CHECK_CLASS(call, MPI_ERR_COMM)

static void refuse_all(void) {
  int n, flag, result;
  char name[MPI_MAX_OBJECT_NAME];
  void *value;
  MPI_Comm comm = MPI_COMM_SELF, again;
  MPI_Group group;
  MPI_Info info;
  MPI_Request request;
  MPI_Errhandler errhandler;
  REFUSED(MPI_Comm_size(bad, &n));
  REFUSED(MPI_Comm_rank(bad, &n));
  REFUSED(MPI_Comm_compare(bad, MPI_COMM_SELF, &result));
  REFUSED(MPI_Comm_compare(MPI_COMM_SELF, bad, &result));
  REFUSED(MPI_Comm_group(bad, &group));
  REFUSED(MPI_Comm_dup(bad, &comm));
  REFUSED(MPI_Comm_dup_with_info(bad, MPI_INFO_NULL, &comm));
  REFUSED(MPI_Comm_idup(bad, &comm, &request));
  REFUSED(MPI_Comm_idup_with_info(bad, MPI_INFO_NULL, &comm, &request));
  REFUSED(MPI_Comm_create(bad, MPI_GROUP_EMPTY, &comm));
  REFUSED(MPI_Comm_create_group(bad, MPI_GROUP_EMPTY, 0, &comm));
  REFUSED(MPI_Comm_split(bad, 0, 0, &comm));
  REFUSED(MPI_Comm_split_type(bad, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
  again = bad;
  REFUSED(MPI_Comm_free(&again));
  CHECK(again == bad);
  REFUSED(MPI_Comm_disconnect(&again));
  REFUSED(MPI_Comm_set_info(bad, MPI_INFO_NULL));
  REFUSED(MPI_Comm_get_info(bad, &info));
  REFUSED(MPI_Comm_test_inter(bad, &flag));
  REFUSED(MPI_Comm_remote_size(bad, &n));
  REFUSED(MPI_Comm_remote_group(bad, &group));
  REFUSED(MPI_Intercomm_create(bad, 0, MPI_COMM_WORLD, 0, 0, &comm));
  REFUSED(MPI_Intercomm_create(MPI_COMM_SELF, 0, bad, 0, 0, &comm));
  REFUSED(MPI_Intercomm_merge(bad, 0, &comm));
  REFUSED(MPI_Comm_set_attr(bad, MPI_TAG_UB, NULL));
  REFUSED(MPI_Comm_get_attr(bad, MPI_TAG_UB, &value, &flag));
  REFUSED(MPI_Comm_delete_attr(bad, MPI_TAG_UB));
  REFUSED(MPI_Comm_set_name(bad, "name"));
  if (bad != MPI_COMM_NULL) REFUSED(MPI_Comm_get_name(bad, name, &n));
  REFUSED(MPI_Comm_set_errhandler(bad, MPI_ERRORS_RETURN));
  REFUSED(MPI_Comm_get_errhandler(bad, &errhandler));
  REFUSED(MPI_Send(&n, 0, MPI_INT, MPI_PROC_NULL, 0, bad));
  REFUSED(MPI_Iprobe(MPI_ANY_SOURCE, 0, bad, &flag, MPI_STATUS_IGNORE));
  REFUSED(MPI_Barrier(bad));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  bad = MPI_COMM_NULL;
  refuse_all();
  CHECK_OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  bad = comm;
  CHECK_OK(MPI_Comm_free(&comm));
  refuse_all();
  // Its place is taken by another, which the old handle does not mean.
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK(comm != bad);
  refuse_all();
  CHECK_OK(MPI_Comm_free(&comm));
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  bad = (MPI_Comm)group;
  refuse_all();
  MPI_Group_free(&group);
  memset(&bad, 0, sizeof bad);
  refuse_all();
  memset(&bad, 0xff, sizeof bad);
  refuse_all();
  return check_end();
}
