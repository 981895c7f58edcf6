// Names of communicators.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char name[MPI_MAX_OBJECT_NAME], other[MPI_MAX_OBJECT_NAME * 2];
  int length = -1;
  CHECK_OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == (int)strlen(name));
  CHECK_OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
  MPI_Comm comm, child;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(length == 0 && name[0] == 0);
  snprintf(other, sizeof other, "halo of rank %d", check_rank);
  CHECK_OK(MPI_Comm_set_name(comm, other));
  CHECK_OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(strcmp(name, other) == 0 && length == (int)strlen(other));
  CHECK_OK(MPI_Comm_dup(comm, &child));
  CHECK_OK(MPI_Comm_get_name(child, name, &length));
  CHECK_EQUAL(length, 0);
  // A name that fits exactly.
  memset(other, 'x', MPI_MAX_OBJECT_NAME - 1);
  other[MPI_MAX_OBJECT_NAME - 1] = 0;
  CHECK_OK(MPI_Comm_set_name(child, other));
  CHECK_OK(MPI_Comm_get_name(child, name, &length));
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strcmp(name, other) == 0);
  // One that is too long is cut; a new name replaces an old one; leading spaces count.
  char longer[MPI_MAX_OBJECT_NAME + 20];
  memset(longer, 'y', sizeof longer);
  longer[sizeof longer - 1] = 0;
  CHECK_OK(MPI_Comm_set_name(child, longer));
  CHECK_OK(MPI_Comm_get_name(child, name, &length));
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && strncmp(name, longer, length) == 0 && name[length] == 0);
  CHECK_OK(MPI_Comm_set_name(child, "  two before"));
  CHECK_OK(MPI_Comm_get_name(child, name, &length));
  CHECK(strcmp(name, "  two before") == 0 && length == 12);
  CHECK_OK(MPI_Comm_set_name(child, ""));
  CHECK_OK(MPI_Comm_get_name(child, name, &length));
  CHECK(length == 0 && name[0] == 0);
  CHECK_OK(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
  CHECK_OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "everybody") == 0);
  MPI_Comm_free(&child);
  MPI_Comm_free(&comm);
  return check_end();
}
