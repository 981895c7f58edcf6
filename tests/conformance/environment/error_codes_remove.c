// Added error classes, codes and texts are removed again (MPI 4.1).
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int class, code, length;
  char text[MPI_MAX_ERROR_STRING];
  CHECK_OK(MPI_Add_error_class(&class));
  CHECK_OK(MPI_Add_error_code(class, &code));
  CHECK_OK(MPI_Add_error_string(code, "soon gone"));
  CHECK(MPI_Remove_error_class(class) != MPI_SUCCESS);
  CHECK_OK(MPI_Remove_error_string(code));
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(length == 0 && text[0] == 0);
  CHECK_OK(MPI_Remove_error_code(code));
  CHECK_OK(MPI_Remove_error_class(class));
  CHECK(MPI_Remove_error_class(MPI_ERR_TAG) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_code(MPI_ERR_TAG) != MPI_SUCCESS);
  return check_end();
}
