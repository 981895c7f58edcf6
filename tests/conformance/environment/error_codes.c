// Error classes and their texts, and classes, codes and texts that the program adds (and removes again).
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  static const int classes[] = {
      MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_REQUEST,
      MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG, MPI_ERR_UNKNOWN,
      MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_IN_STATUS, MPI_ERR_PENDING, MPI_ERR_KEYVAL,
      MPI_ERR_NO_MEM, MPI_ERR_BASE, MPI_ERR_INFO_KEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO_NOKEY, MPI_ERR_SPAWN,
      MPI_ERR_PORT, MPI_ERR_SERVICE, MPI_ERR_NAME, MPI_ERR_WIN, MPI_ERR_SIZE, MPI_ERR_DISP, MPI_ERR_INFO,
      MPI_ERR_LOCKTYPE, MPI_ERR_ASSERT, MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_SYNC, MPI_ERR_RMA_RANGE, MPI_ERR_RMA_ATTACH,
      MPI_ERR_RMA_SHARED, MPI_ERR_RMA_FLAVOR, MPI_ERR_FILE, MPI_ERR_NOT_SAME, MPI_ERR_AMODE,
      MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_NO_SUCH_FILE, MPI_ERR_FILE_EXISTS,
      MPI_ERR_BAD_FILE, MPI_ERR_ACCESS, MPI_ERR_NO_SPACE, MPI_ERR_QUOTA, MPI_ERR_READ_ONLY, MPI_ERR_FILE_IN_USE,
      MPI_ERR_DUP_DATAREP, MPI_ERR_CONVERSION, MPI_ERR_IO, MPI_ERR_SESSION, MPI_ERR_PROC_ABORTED,
      MPI_ERR_VALUE_TOO_LARGE, MPI_ERR_ERRHANDLER};
  char text[MPI_MAX_ERROR_STRING], other[MPI_MAX_ERROR_STRING];
  int length, class, flag;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    CHECK(classes[i] >= 0 && classes[i] <= MPI_ERR_LASTCODE);
    CHECK_OK(MPI_Error_class(classes[i], &class));
    CHECK_EQUAL(class, classes[i]);
    length = -1;
    CHECK_OK(MPI_Error_string(classes[i], text, &length));
    CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && length == (int)strlen(text));
    for (size_t j = 0; j < i; j++) CHECK(classes[i] != classes[j]);
  }
  int *last = NULL;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && last && *last >= MPI_ERR_LASTCODE);
  int before = flag ? *last : 0;

  int mine, code, second;
  CHECK_OK(MPI_Add_error_class(&mine));
  CHECK(mine > before);
  CHECK_OK(MPI_Add_error_string(mine, "a class of my own"));
  CHECK_OK(MPI_Add_error_code(mine, &code));
  CHECK(code != mine && code > before);
  CHECK_OK(MPI_Error_class(code, &class));
  CHECK_EQUAL(class, mine);
  CHECK_OK(MPI_Error_class(mine, &class));
  CHECK_EQUAL(class, mine);
  CHECK_OK(MPI_Error_string(mine, text, &length));
  CHECK(strcmp(text, "a class of my own") == 0);
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK_EQUAL(length, 0);
  CHECK_OK(MPI_Add_error_string(code, "a code of my own"));
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(strcmp(text, "a code of my own") == 0 && length == (int)strlen(text));
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= mine);
  // A code may be added to a predefined class as well.
  CHECK_OK(MPI_Add_error_code(MPI_ERR_TAG, &second));
  CHECK_OK(MPI_Error_class(second, &class));
  CHECK_EQUAL(class, MPI_ERR_TAG);
  CHECK(MPI_Add_error_string(MPI_ERR_TAG, "no") != MPI_SUCCESS);
  CHECK_OK(MPI_Error_string(MPI_ERR_TAG, other, &length));
  CHECK(strcmp(other, "no") != 0);
  return check_end();
}
