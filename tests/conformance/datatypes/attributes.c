// Attributes of datatypes: copy functions at MPI_Type_dup, delete functions at free, delete and replacement; their
// failures; keys of another kind of object.
#include "../check.h"

static int state;  // its address is the extra state
static int copies, deletes, fail_copy, fail_delete;
static MPI_Datatype copied_from, deleted_on;
static void *deleted_value;
static int order[8];

static int copy(MPI_Datatype old, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)keyval;
  CHECK(extra == &state);
  copies++;
  copied_from = old;
  if (fail_copy) return MPI_ERR_INTERN;
  *flag = in != NULL;  // a null value is not copied
  *(void **)out = (char *)in + 1;
  return MPI_SUCCESS;
}

static int delete(MPI_Datatype type, int keyval, void *value, void *extra) {
  CHECK(extra == &state);
  if (fail_delete) return MPI_ERR_INTERN;
  if (deletes < 8) order[deletes] = keyval;
  deletes++;
  deleted_on = type;
  deleted_value = value;
  return MPI_SUCCESS;
}

static void *get(MPI_Datatype type, int key) {
  void *value = &state;
  int flag = -1;
  CHECK_OK(MPI_Type_get_attr(type, key, &value, &flag));
  return flag ? value : (void *)-1;
}

static void life(MPI_Datatype type) {
  char data[4];
  int key, other, gone, plain;
  CHECK_OK(MPI_Type_create_keyval(copy, delete, &key, &state));
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete, &other, &state));
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL));
  CHECK(key != other && key != MPI_KEYVAL_INVALID);
  CHECK(get(type, key) == (void *)-1);
  copies = deletes = 0;
  CHECK_OK(MPI_Type_set_attr(type, key, data));
  CHECK(get(type, key) == data && deletes == 0);
  // Replacing a value deletes the old one.
  CHECK_OK(MPI_Type_set_attr(type, key, data + 1));
  CHECK(get(type, key) == data + 1 && deletes == 1 && deleted_value == data && deleted_on == type);
  CHECK_OK(MPI_Type_set_attr(type, other, NULL));
  CHECK_OK(MPI_Type_set_attr(type, plain, data));
  CHECK(get(type, other) == NULL);

  // A duplicate has what the copy functions want it to have; the other keeps its own.
  MPI_Datatype duplicate, second;
  CHECK_OK(MPI_Type_dup(type, &duplicate));
  CHECK(copies == 1 && copied_from == type);
  CHECK(get(duplicate, key) == data + 2 && get(duplicate, other) == NULL && get(duplicate, plain) == (void *)-1);
  CHECK_OK(MPI_Type_set_attr(duplicate, key, NULL));
  CHECK(get(type, key) == data + 1);
  // Nothing but dup hands attributes on.
  CHECK_OK(MPI_Type_contiguous(2, type, &second));
  CHECK(get(second, key) == (void *)-1 && copies == 1);
  CHECK_OK(MPI_Type_free(&second));

  // A freed key lives on in the attributes that use it.
  gone = key;
  CHECK_OK(MPI_Type_free_keyval(&gone));
  CHECK_EQUAL(gone, MPI_KEYVAL_INVALID);
  CHECK(get(type, key) == data + 1);
  copies = deletes = 0;
  CHECK_OK(MPI_Type_dup(duplicate, &second));
  CHECK(copies == 1);
  // The value NULL was not copied; `other` was set last but one.
  CHECK_OK(MPI_Type_free(&second));
  CHECK_EQUAL(deletes, 1);
  CHECK_EQUAL(order[0], other);
  deletes = 0;
  second = duplicate;
  CHECK_OK(MPI_Type_free(&duplicate));
  CHECK(deletes == 2 && deleted_on == second && duplicate == MPI_DATATYPE_NULL);
  CHECK_OK(MPI_Type_delete_attr(type, other));
  CHECK(deletes == 3 && deleted_value == NULL);
  CHECK_CLASS(MPI_Type_delete_attr(type, other), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Type_delete_attr(type, plain));
  // With its last attribute the freed key is gone.
  int flag;
  void *value;
  CHECK_OK(MPI_Type_delete_attr(type, key));
  CHECK_CLASS(MPI_Type_get_attr(type, key, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_set_attr(type, key, data), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_delete_attr(type, key), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_free_keyval(&key), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Type_free_keyval(&other));
  CHECK_OK(MPI_Type_free_keyval(&plain));
}

static void failures(void) {
  MPI_Datatype type, duplicate, handle;
  int key;
  char data;
  CHECK_OK(MPI_Type_create_keyval(copy, delete, &key, &state));
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK_OK(MPI_Type_set_attr(type, key, &data));
  fail_copy = 1;
  CHECK_CLASS(MPI_Type_dup(type, &duplicate), MPI_ERR_INTERN);
  fail_copy = 0;
  // A delete function that fails stops what would have deleted.
  fail_delete = 1;
  handle = type;
  CHECK_CLASS(MPI_Type_free(&type), MPI_ERR_INTERN);
  CHECK(type == handle && get(type, key) == &data);
  CHECK_CLASS(MPI_Type_delete_attr(type, key), MPI_ERR_INTERN);
  CHECK(get(type, key) == &data);
  CHECK_CLASS(MPI_Type_set_attr(type, key, NULL), MPI_ERR_INTERN);
  CHECK(get(type, key) == &data);
  fail_delete = 0;
  deletes = 0;
  CHECK_OK(MPI_Type_free(&type));
  CHECK_EQUAL(deletes, 1);
  // A handle made anew has none of it, even if it were the same number.
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK(get(type, key) == (void *)-1);
  CHECK_CLASS(MPI_Type_set_attr(handle, key, NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_set_attr(MPI_DATATYPE_NULL, key, NULL), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Type_free_keyval(&key));
}

static void wrong_kinds(void) {
  int type_key, comm_key, flag, none = MPI_KEYVAL_INVALID;
  void *value;
  CHECK_OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
  CHECK_CLASS(MPI_Type_set_attr(MPI_INT, comm_key, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_get_attr(MPI_INT, comm_key, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_get_attr(MPI_INT, MPI_TAG_UB, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_SELF, type_key, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, type_key, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_get_attr(MPI_INT, none, &value, &flag), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_free_keyval(&comm_key), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_free_keyval(&type_key), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Type_free_keyval(&none), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Type_free_keyval(&type_key));
  CHECK_OK(MPI_Comm_free_keyval(&comm_key));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &type);
  life(type);
  CHECK_OK(MPI_Type_free(&type));
  life(MPI_INT);  // predefined types carry attributes, too
  failures();
  wrong_kinds();
  return check_end();
}
