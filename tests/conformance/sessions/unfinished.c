// A program that ends without MPI_Session_finalize has failed, and is told so. weft-test: exit=nonzero faults=yes
// weft-test-output: without MPI_Session_finalize
#include "check.h"

int main(int argc, char **argv) {
  MPI_Session session;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  return 0;
}
