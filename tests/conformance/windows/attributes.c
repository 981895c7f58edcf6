// Attributes and names of windows.
#include "check.h"

static int copies, deletions, last_key, last_extra, refuse;
static MPI_Win last_win;
static void *last_value;

static int copy(MPI_Win win, int key, void *extra, void *in, void *out, int *flag) {
  copies++;
  *flag = 0;
  return MPI_SUCCESS;
}

static int delete(MPI_Win win, int key, void *value, void *extra) {
  deletions++;
  last_win = win;
  last_key = key;
  last_value = value;
  last_extra = *(int *)extra;
  return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Win win, same;
  int extra = 7, key, second, comm_key, flag = -1, value[3];
  int *found = NULL;
  CHECK_OK(MPI_Win_create(value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Win_create_keyval(copy, delete, &key, &extra));
  CHECK_OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &second, NULL));
  CHECK(key != second && key != MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Win_get_attr(win, key, &found, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Win_set_attr(win, key, &value[0]));
  CHECK_OK(MPI_Win_get_attr(win, key, &found, &flag));
  CHECK(flag && found == &value[0]);
  CHECK_OK(MPI_Win_set_attr(win, key, &value[1]));
  CHECK_EQUAL(deletions, 1);
  CHECK(last_win == win && last_key == key && last_value == &value[0] && last_extra == 7);
  CHECK_OK(MPI_Win_get_attr(win, key, &found, &flag));
  CHECK(flag && found == &value[1]);
  CHECK_OK(MPI_Win_delete_attr(win, key));
  CHECK_EQUAL(deletions, 2);
  CHECK(last_value == &value[1]);
  CHECK_OK(MPI_Win_get_attr(win, key, &found, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_CLASS(MPI_Win_delete_attr(win, key), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Win_set_attr(win, second, &value[2]));
  CHECK_OK(MPI_Win_set_attr(win, key, &value[2]));

  // Keys of other objects, predefined keys.
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
  CHECK_CLASS(MPI_Win_set_attr(win, comm_key, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Win_set_attr(win, MPI_WIN_BASE, NULL), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
  CHECK_CLASS(MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, &found, &flag), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Comm_free_keyval(&comm_key));

  char name[MPI_MAX_OBJECT_NAME] = "x", text[2 * MPI_MAX_OBJECT_NAME];
  int length = -1;
  CHECK_OK(MPI_Win_get_name(win, name, &length));
  CHECK(length == 0 && name[0] == 0);
  CHECK_OK(MPI_Win_set_name(win, "a view"));
  CHECK_OK(MPI_Win_get_name(win, name, &length));
  CHECK(length == 6 && strcmp(name, "a view") == 0);
  memset(text, 'n', sizeof text - 1);
  text[sizeof text - 1] = 0;
  CHECK_OK(MPI_Win_set_name(win, text));
  CHECK_OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQUAL(length, MPI_MAX_OBJECT_NAME - 1);
  CHECK_EQUAL(strlen(name), length);
  CHECK_OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0);

  // A delete function that fails keeps the window; freeing a key does not touch what is set.
  int kept = key;
  CHECK_OK(MPI_Win_free_keyval(&key));
  CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
  same = win;
  refuse = 1;
  CHECK(MPI_Win_free(&same) != MPI_SUCCESS);
  CHECK(same == win);
  CHECK_EQUAL(deletions, 3);
  refuse = 0;
  CHECK_OK(MPI_Win_free(&win));
  CHECK_EQUAL(deletions, 4);
  CHECK_EQUAL(last_key, kept);
  CHECK_OK(MPI_Win_free_keyval(&second));
  CHECK_EQUAL(copies, 0);
  return check_end();
}
