// Added error classes, codes and texts are removed again (MPI 4.1).
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int class, code, length;
  char text[MPI_MAX_ERROR_STRING];
  CHECK_OK(MPI_Add_error_class(&class));
  CHECK_OK(MPI_Add_error_code(class, &code));
  int other, *last, flag;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= class);
  CHECK_OK(MPI_Add_error_class(&other));
  CHECK_CLASS(MPI_Remove_error_string(code), MPI_ERR_ARG);
  CHECK_OK(MPI_Add_error_string(code, "soon gone"));
  // Strings go before codes, and codes before classes.
  CHECK_CLASS(MPI_Remove_error_code(code), MPI_ERR_ARG);
  CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
  CHECK_OK(MPI_Remove_error_string(code));
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(length == 0 && text[0] == 0);
  CHECK_OK(MPI_Remove_error_code(code));
  CHECK_OK(MPI_Add_error_string(class, "a class is a code, too"));
  CHECK_CLASS(MPI_Remove_error_class(class), MPI_ERR_ARG);
  CHECK_OK(MPI_Remove_error_string(class));
  CHECK_OK(MPI_Remove_error_class(class));
  CHECK_CLASS(MPI_Remove_error_code(code), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Remove_error_class(class), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Error_class(code, &length), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Add_error_code(class, &code), MPI_ERR_ARG);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= other);
  CHECK_OK(MPI_Remove_error_class(other));
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= MPI_ERR_LASTCODE && *last < class);
  // The longest string there may be, and one more.
  static char full[MPI_MAX_ERROR_STRING + 2];
  memset(full, 'e', MPI_MAX_ERROR_STRING + 1);
  CHECK_OK(MPI_Add_error_code(MPI_ERR_TAG, &code));
  CHECK_CLASS(MPI_Add_error_string(code, full), MPI_ERR_ARG);
  full[MPI_MAX_ERROR_STRING] = 0;
  CHECK_OK(MPI_Add_error_string(code, full));
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(length == MPI_MAX_ERROR_STRING - 1 && strlen(text) == (size_t)length);
  CHECK(MPI_Remove_error_class(MPI_ERR_TAG) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_code(MPI_ERR_TAG) != MPI_SUCCESS);
  return check_end();
}
