// Info objects: keys in the order of insertion, values, lengths, duplicates, errors.
// weft-test: part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Info info, copy;
  char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
  int flag = -1, length = -1, count = -1;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQUAL(count, 0);
  CHECK_OK(MPI_Info_set(info, "colour", "blue"));
  CHECK_OK(MPI_Info_set(info, "size", "12"));
  CHECK_OK(MPI_Info_set(info, "empty", ""));
  CHECK_OK(MPI_Info_set(info, "colour", "dark green"));
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQUAL(count, 3);
  int seen = 0;
  for (int i = 0; i < count; i++) {
    CHECK_OK(MPI_Info_get_nthkey(info, i, key));
    seen |= strcmp(key, "colour") == 0 ? 1 : strcmp(key, "size") == 0 ? 2 : strcmp(key, "empty") == 0 ? 4 : 8;
  }
  CHECK_EQUAL(seen, 7);
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
  CHECK(flag && strcmp(value, "dark green") == 0);
  CHECK_EQUAL(length, 11);  // with the terminating null
  length = 5;
  CHECK_OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
  CHECK(flag && strcmp(value, "dark") == 0);
  CHECK_EQUAL(length, 11);
  length = 0;
  strcpy(value, "kept");
  CHECK_OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
  CHECK(flag && length == 11 && strcmp(value, "kept") == 0);
  length = 10;
  CHECK_OK(MPI_Info_get_string(info, "nothing", &length, value, &flag));
  CHECK_EQUAL(flag, 0);

  CHECK_OK(MPI_Info_dup(info, &copy));
  CHECK_OK(MPI_Info_delete(info, "colour"));
  CHECK_OK(MPI_Info_get_nkeys(copy, &count));
  CHECK_EQUAL(count, 3);
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQUAL(count, 2);
  CHECK_CLASS(MPI_Info_delete(info, "colour"), MPI_ERR_INFO_NOKEY);
  CHECK(MPI_Info_get_nthkey(info, 2, key) != MPI_SUCCESS);
  memset(key, 'k', sizeof key);
  key[MPI_MAX_INFO_KEY - 1] = 0;
  CHECK_OK(MPI_Info_set(info, key, "long key"));
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK(flag && strcmp(value, "long key") == 0);
  CHECK_OK(MPI_Info_free(&info));
  CHECK(info == MPI_INFO_NULL);
  CHECK_OK(MPI_Info_free(&copy));
  CHECK_CLASS(MPI_Info_get_nkeys(MPI_INFO_NULL, &count), MPI_ERR_INFO);
  return check_end();
}
