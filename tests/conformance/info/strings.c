// Keys and values are kept as they are: blanks, letters of either case, bytes of any encoding, up to their limits.
// weft-test: part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  MPI_Info info, copy;
  static char value[MPI_MAX_INFO_VAL + 2], long_value[MPI_MAX_INFO_VAL + 2], key[MPI_MAX_INFO_KEY + 2];
  int flag, length, count;
  check_init(&argc, &argv);
  CHECK_OK(MPI_Info_create(&info));
  static const char *const pairs[][2] = {
      {" key ", " value "},      {"key", "value"}, {"Key", "VALUE"},       {"gr\xfcn", "\x80\xff caf\xe9"},
      {"gr\xc3\xbcn", "caf\xc3\xa9"}, {"empty", ""},    {" ", "a blank key"}, {"lines", "one\ntwo\ttabs"},
  };
  enum { PAIRS = sizeof pairs / sizeof *pairs };
  for (int i = 0; i < PAIRS; i++) CHECK_OK(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQUAL(count, PAIRS);
  CHECK_OK(MPI_Info_dup(info, &copy));
  for (int i = 0; i < PAIRS; i++) {
    length = sizeof value;
    CHECK_OK(MPI_Info_get_string(copy, pairs[i][0], &length, value, &flag));
    CHECK(flag && strcmp(value, pairs[i][1]) == 0);
    CHECK_EQUAL(length, strlen(pairs[i][1]) + 1);
    // Duplicates have the same order of keys, and asking changes nothing.
    char there[MPI_MAX_INFO_KEY];
    CHECK_OK(MPI_Info_get_nthkey(info, i, key));
    CHECK_OK(MPI_Info_get_nthkey(copy, i, there));
    CHECK(strcmp(key, there) == 0);
  }
  // A buffer of one byte takes the end of the string; flag and value stay apart.
  length = 1;
  value[0] = 'x';
  CHECK_OK(MPI_Info_get_string(info, "key", &length, value, &flag));
  CHECK(flag && value[0] == 0 && length == 6);
  length = 3;
  strcpy(value, "unchanged");
  CHECK_OK(MPI_Info_get_string(info, "missing", &length, value, &flag));
  CHECK(!flag && strcmp(value, "unchanged") == 0);
  length = 0;
  CHECK_OK(MPI_Info_get_string(info, "key", &length, NULL, &flag));
  CHECK(flag && length == 6);
  // Overriding keeps the number of keys; deleting takes one away.
  CHECK_OK(MPI_Info_set(info, "key", ""));
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, "key", &length, value, &flag));
  CHECK(flag && value[0] == 0 && length == 1);
  CHECK_OK(MPI_Info_delete(info, " key "));
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_EQUAL(count, PAIRS - 1);
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(copy, "key", &length, value, &flag));
  CHECK(flag && strcmp(value, "value") == 0);

  memset(key, 'k', sizeof key);
  key[MPI_MAX_INFO_KEY - 1] = 0;
  memset(long_value, 'v', sizeof long_value);
  // The constants count the end of a string, so that an array of that many characters holds the longest one.
  long_value[MPI_MAX_INFO_VAL - 1] = 0;
  CHECK_OK(MPI_Info_set(info, key, long_value));
  length = sizeof value;
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK(flag && length == MPI_MAX_INFO_VAL && strcmp(value, long_value) == 0);
  long_value[MPI_MAX_INFO_VAL - 1] = 'v';
  long_value[MPI_MAX_INFO_VAL] = 0;
  CHECK_CLASS(MPI_Info_set(info, "key", long_value), MPI_ERR_INFO_VALUE);
  key[MPI_MAX_INFO_KEY - 1] = 'k';
  key[MPI_MAX_INFO_KEY] = 0;
  CHECK_CLASS(MPI_Info_set(info, key, "x"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_delete(info, key), MPI_ERR_INFO_KEY);
  length = sizeof value;
  CHECK_CLASS(MPI_Info_get_string(info, key, &length, value, &flag), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
  CHECK_CLASS(MPI_Info_delete(info, "missing"), MPI_ERR_INFO_NOKEY);
  CHECK_CLASS(MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
  CHECK_OK(MPI_Info_get_nkeys(info, &count));
  CHECK_CLASS(MPI_Info_get_nthkey(info, count, key), MPI_ERR_ARG);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Info_free(&copy));

  // Many objects at once, freed in another order.
  MPI_Info many[100];
  for (int i = 0; i < 100; i++) {
    char text[16];
    snprintf(text, sizeof text, "%d", i);
    CHECK_OK(MPI_Info_create(&many[i]));
    CHECK_OK(MPI_Info_set(many[i], "number", text));
  }
  for (int i = 0; i < 100; i++) {
    int at = i * 37 % 100;
    length = sizeof value;
    CHECK_OK(MPI_Info_get_string(many[at], "number", &length, value, &flag));
    CHECK_EQUAL(atoi(value), at);
    CHECK_OK(MPI_Info_free(&many[at]));
  }
  return check_end();
}
