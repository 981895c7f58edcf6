// Attributes of communicators: copy and delete callbacks, their order, errors they return, keyvals freed in use.
#include "check.h"

static int copies, deletions, order[8], ordered;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval;
  CHECK(*(int *)extra == 11);
  copies++;
  *(void **)out = (char *)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int refuse_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_SUCCESS;
}
static int failing_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}
static int delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval;
  CHECK(*(int *)extra == 11);
  deletions++;
  if (ordered < 8) order[ordered++] = (int)(MPI_Aint)value;
  return MPI_SUCCESS;
}
static int failing_delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value;
  return ++*(int *)extra == 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int extra = 11, key, plain, dup_key, bad_copy, bad_delete, attempts = 0, flag;
  void *value = NULL;
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &key, &extra));
  CHECK_OK(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL));
  CHECK(key != plain && key != MPI_KEYVAL_INVALID && plain != MPI_KEYVAL_INVALID);
  MPI_Comm comm, child;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_set_attr(comm, key, (void *)(MPI_Aint)100));
  CHECK_OK(MPI_Comm_set_attr(comm, plain, (void *)(MPI_Aint)200));
  CHECK_OK(MPI_Comm_set_attr(comm, dup_key, (void *)(MPI_Aint)300));
  CHECK_OK(MPI_Comm_get_attr(comm, key, &value, &flag));
  CHECK(flag && value == (void *)(MPI_Aint)100);

  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_EQUAL(copies, 1);
  CHECK_OK(MPI_Comm_get_attr(child, key, &value, &flag));
  CHECK(flag && value == (void *)(MPI_Aint)101);
  CHECK_OK(MPI_Comm_get_attr(child, plain, &value, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_get_attr(child, dup_key, &value, &flag));
  CHECK(flag && value == (void *)(MPI_Aint)300);

  // Setting again deletes the old value first; deleting twice is an error.
  CHECK_OK(MPI_Comm_set_attr(child, key, (void *)(MPI_Aint)102));
  CHECK_EQUAL(deletions, 1);
  CHECK_OK(MPI_Comm_delete_attr(child, key));
  CHECK_EQUAL(deletions, 2);
  CHECK(order[0] == 101 && order[1] == 102);
  CHECK_OK(MPI_Comm_get_attr(child, key, &value, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_EQUAL(deletions, 2);

  // A split does not copy attributes.
  CHECK_OK(MPI_Comm_split(comm, 0, 0, &child));
  CHECK_EQUAL(copies, 1);
  CHECK_OK(MPI_Comm_get_attr(child, dup_key, &value, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_free(&child));

  // A keyval that is freed while attributes use it lives on with them.
  int freed = key;
  CHECK_OK(MPI_Comm_free_keyval(&key));
  CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_EQUAL(copies, 2);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_EQUAL(deletions, 3);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_EQUAL(deletions, 4);
  (void)freed;

  // Callbacks that fail make the call fail.
  CHECK_OK(MPI_Comm_create_keyval(failing_copy, MPI_COMM_NULL_DELETE_FN, &bad_copy, NULL));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, failing_delete, &bad_delete, &attempts));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_attr(comm, bad_copy, NULL));
  CHECK(MPI_Comm_dup(comm, &child) != MPI_SUCCESS);
  CHECK_OK(MPI_Comm_delete_attr(comm, bad_copy));
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_set_attr(comm, bad_delete, NULL));
  CHECK(MPI_Comm_delete_attr(comm, bad_delete) != MPI_SUCCESS);
  CHECK_EQUAL(attempts, 1);
  CHECK_OK(MPI_Comm_delete_attr(comm, bad_delete));
  CHECK_EQUAL(attempts, 2);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, NULL), MPI_ERR_KEYVAL);
  CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, MPI_TAG_UB, NULL) != MPI_SUCCESS);
  CHECK_OK(MPI_Comm_free_keyval(&bad_copy));
  CHECK_OK(MPI_Comm_free_keyval(&bad_delete));
  CHECK_OK(MPI_Comm_free_keyval(&plain));
  CHECK_OK(MPI_Comm_free_keyval(&dup_key));
  return check_end();
}
