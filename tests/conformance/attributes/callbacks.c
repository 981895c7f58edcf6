// Callbacks of attributes in every situation: what they are passed, what they may do themselves, what follows from their
// errors, and that nothing is left behind when a duplication fails half-way.
#include "check.h"

static int value_a = 1, value_b = 2, value_c = 3;
static int key_a, key_b, key_c;
static MPI_Comm expected_comm;
static int copies, deletions, code_of_copy, code_of_delete;
static void *deleted[32];

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  CHECK(comm == expected_comm);
  CHECK(extra == (keyval == key_a ? (void *)&key_a : keyval == key_b ? (void *)&key_b : (void *)&key_c));
  copies++;
  *(void **)out = in;
  *flag = 1;
  return keyval == key_c ? code_of_copy : MPI_SUCCESS;
}
static int delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm;
  CHECK(extra == (keyval == key_a ? (void *)&key_a : keyval == key_b ? (void *)&key_b : (void *)&key_c));
  if (deletions < 32) deleted[deletions] = value;
  deletions++;
  return keyval == key_b ? code_of_delete : MPI_SUCCESS;
}

// Callbacks that use the attributes of the object they are called for.
static int other;
static int meddling_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)keyval, (void)extra;
  void *seen;
  int there;
  CHECK_OK(MPI_Comm_set_attr(comm, other, in));
  CHECK_OK(MPI_Comm_get_attr(comm, other, &seen, &there));
  CHECK(there && seen == in);
  *(void **)out = in, *flag = 1;
  return MPI_SUCCESS;
}
static int meddling_delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)keyval, (void)value;
  int there;
  void *seen;
  // Once: a new attribute while the others are being deleted.
  if (*(int *)extra == 0) {
    *(int *)extra = 1;
    CHECK_OK(MPI_Comm_set_attr(comm, other, &value_b));
  }
  CHECK_OK(MPI_Comm_get_attr(comm, other, &seen, &there));
  return MPI_SUCCESS;
}
static int counting_delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value;
  ++*(int *)extra;
  return MPI_SUCCESS;
}

static int has(MPI_Comm comm, int keyval, void *expected) {
  void *value = NULL;
  int flag = -1;
  CHECK_OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  return flag && value == expected;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm comm, child;
  int flag, size;
  void *value;
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &key_a, &key_a));
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &key_b, &key_b));
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &key_c, &key_c));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_attr(comm, key_a, &value_a));
  CHECK_OK(MPI_Comm_set_attr(comm, key_b, &value_b));
  CHECK_OK(MPI_Comm_set_attr(comm, key_c, &value_c));

  // All are copied; freeing deletes all; the parent keeps its own.
  expected_comm = comm;
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_EQUAL(copies, 3);
  CHECK(has(child, key_a, &value_a) && has(child, key_b, &value_b) && has(child, key_c, &value_c));
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_EQUAL(deletions, 3);
  CHECK(has(comm, key_a, &value_a) && has(comm, key_b, &value_b) && has(comm, key_c, &value_c));

  // A copy function that fails: the call fails with its code, what was copied before is deleted, the parent is whole.
  int class, code;
  CHECK_OK(MPI_Add_error_class(&class));
  CHECK_OK(MPI_Add_error_code(class, &code));
  code_of_copy = code, copies = deletions = 0;
  CHECK_EQUAL(MPI_Comm_dup(comm, &child), code);
  CHECK(child == MPI_COMM_NULL);
  CHECK(copies >= 1 && copies <= 3);
  CHECK_EQUAL(deletions, copies - 1);
  CHECK(has(comm, key_a, &value_a) && has(comm, key_b, &value_b) && has(comm, key_c, &value_c));
  copies = deletions = 0;
  CHECK_EQUAL(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &child), code);
  CHECK_EQUAL(deletions, copies - 1);
  code_of_copy = MPI_SUCCESS;

  // A delete function that fails: the attribute stays, and so does the communicator.
  code_of_delete = MPI_ERR_OTHER, deletions = 0;
  CHECK_CLASS(MPI_Comm_delete_attr(comm, key_b), MPI_ERR_OTHER);
  CHECK(has(comm, key_b, &value_b));
  CHECK_CLASS(MPI_Comm_set_attr(comm, key_b, &value_c), MPI_ERR_OTHER);
  CHECK(has(comm, key_b, &value_b));
  CHECK_EQUAL(deletions, 2);
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_OK(MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Comm_free(&child), MPI_ERR_OTHER);
  CHECK(child != MPI_COMM_NULL);
  CHECK(has(child, key_b, &value_b));
  CHECK_OK(MPI_Comm_size(child, &size));
  code_of_delete = MPI_SUCCESS, deletions = 0;
  int left = has(child, key_a, &value_a) + has(child, key_b, &value_b) + has(child, key_c, &value_c);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_EQUAL(deletions, left);

  // Setting again deletes the old value, once, before the new one is there.
  deletions = 0;
  CHECK_OK(MPI_Comm_set_attr(comm, key_a, &value_b));
  CHECK(deletions == 1 && deleted[0] == &value_a && has(comm, key_a, &value_b));
  CHECK_OK(MPI_Comm_set_attr(comm, key_a, NULL));
  CHECK(deletions == 2 && deleted[1] == &value_b);
  // A null value is a value.
  CHECK_OK(MPI_Comm_get_attr(comm, key_a, &value, &flag));
  CHECK(flag && value == NULL);
  CHECK_OK(MPI_Comm_delete_attr(comm, key_a));
  CHECK_CLASS(MPI_Comm_delete_attr(comm, key_a), MPI_ERR_KEYVAL);

  // A key that is freed goes on where it is in use: copied, read, deleted; but it cannot be set or freed again.
  int freed = key_b, again = key_b;
  CHECK_OK(MPI_Comm_free_keyval(&key_b));
  CHECK_EQUAL(key_b, MPI_KEYVAL_INVALID);
  CHECK_CLASS(MPI_Comm_free_keyval(&again), MPI_ERR_KEYVAL);
  key_b = freed;
  copies = deletions = 0;
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_EQUAL(copies, 2);
  CHECK(has(child, freed, &value_b));
  CHECK_CLASS(MPI_Comm_set_attr(child, freed, &value_a), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Comm_delete_attr(child, freed));
  CHECK(deletions == 1 && deleted[0] == &value_b);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_delete_attr(comm, freed));
  // Now nothing uses it any more.
  CHECK_CLASS(MPI_Comm_get_attr(comm, freed, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Comm_free(&comm));

  // Callbacks that set and get attributes.
  int meddling, once = 0, ended = 0;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, counting_delete, &other, &ended));
  CHECK_OK(MPI_Comm_create_keyval(meddling_copy, meddling_delete, &meddling, &once));
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Comm_set_attr(comm, meddling, &value_c));
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK(has(comm, other, &value_c) && has(child, meddling, &value_c));
  CHECK_OK(MPI_Comm_get_attr(child, other, &value, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK(once == 1 && ended == 1);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_EQUAL(ended, 2);

  // Keys are of communicators; they are not those of datatypes or windows, and predefined ones are nobody's to change.
  int type_key;
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
  CHECK(type_key != meddling && type_key != other);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, type_key, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, type_key, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_SELF, type_key), MPI_ERR_KEYVAL);
  again = type_key;
  CHECK_CLASS(MPI_Comm_free_keyval(&again), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Type_free_keyval(&type_key));
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_NULL, other, &value, &flag), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_NULL, other, NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_NULL, other), MPI_ERR_COMM);

  // Thousands of keys take no memory once they are freed, and no number comes back to mislead.
  int before = other;
  for (int i = 0; i < 5000; i++) {
    int key;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    CHECK(key != before);
    before = key;
    CHECK_OK(MPI_Comm_free_keyval(&key));
  }
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, before, NULL), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Comm_free_keyval(&meddling));
  CHECK_OK(MPI_Comm_free_keyval(&other));
  MPI_Comm_free_keyval(&key_a), MPI_Comm_free_keyval(&key_c);
  return check_end();
}
