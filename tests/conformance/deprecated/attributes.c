// Attributes by their old names: copies, deletions, predefined ones. weft-test: ranks=1,3
#include "check.h"

static int copies, deletions;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval;
  CHECK(*(int *)extra == 42);
  *(void **)out = in;
  *flag = 1;
  copies++;
  return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  deletions++;
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int extra = 42, value = 7, keyval = MPI_KEYVAL_INVALID, flag = -1, *found = NULL;
  MPI_Comm comm, dup;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Keyval_create(copy, delete, &keyval, &extra));
  CHECK(keyval != MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Attr_get(comm, keyval, &found, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Attr_put(comm, keyval, &value));
  CHECK_OK(MPI_Attr_get(comm, keyval, &found, &flag));
  CHECK(flag && found == &value);
  CHECK_OK(MPI_Comm_dup(comm, &dup));
  CHECK_EQUAL(copies, 1);
  found = NULL;
  CHECK_OK(MPI_Attr_get(dup, keyval, &found, &flag));
  CHECK(flag && found == &value);
  CHECK_OK(MPI_Attr_delete(dup, keyval));
  CHECK_EQUAL(deletions, 1);
  CHECK_OK(MPI_Attr_get(dup, keyval, &found, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_EQUAL(deletions, 1);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_EQUAL(deletions, 2);
  CHECK_OK(MPI_Keyval_free(&keyval));
  CHECK_EQUAL(keyval, MPI_KEYVAL_INVALID);

  // MPI_NULL_COPY_FN copies nothing, MPI_DUP_FN everything.
  int null_key, dup_key;
  CHECK_OK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &null_key, NULL));
  CHECK_OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &dup_key, NULL));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Attr_put(comm, null_key, &value));
  CHECK_OK(MPI_Attr_put(comm, dup_key, &value));
  CHECK_OK(MPI_Comm_dup(comm, &dup));
  CHECK_OK(MPI_Attr_get(dup, null_key, &found, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Attr_get(dup, dup_key, &found, &flag));
  CHECK(flag && found == &value);
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Keyval_free(&null_key));
  CHECK_OK(MPI_Keyval_free(&dup_key));

  CHECK_OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &found, &flag));
  CHECK(flag && *found >= 32767);
  return check_end();
}
