// The version of the ABI may be asked for before MPI_Init.
#include "check.h"

int main(int argc, char **argv) {
  int major = -2, minor = -2;
  CHECK_EQUAL(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS);
  CHECK_EQUAL(major, MPI_ABI_VERSION);
  CHECK_EQUAL(minor, MPI_ABI_SUBVERSION);
  check_init(&argc, &argv);
  return check_end();
}
