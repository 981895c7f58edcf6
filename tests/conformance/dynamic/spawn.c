// A program starts itself one to four times; parents and children exchange messages, reduce, merge, and part.
// weft-test: ranks=1,2,3
#include "family.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm parent, children;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    int size, number, *value, flag;
    char name[MPI_MAX_OBJECT_NAME];
    CHECK_OK(MPI_Comm_get_name(parent, name, &size));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQUAL(argc, 3);
    CHECK(strcmp(argv[1], "child of : a, family") == 0);
    CHECK_EQUAL(atoi(argv[2]), size);
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(flag && *value == 0);
    CHECK_OK(MPI_Comm_remote_size(parent, &number));
    family_life(parent, 1);
    int failures = check_failures, all;
    CHECK_OK(MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, parent));
    CHECK_OK(MPI_Comm_disconnect(&parent));
    CHECK(parent == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    return check_end();
  }
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int count = 1; count <= 4; count += 1 + (size > 1)) {
    char number[20];
    snprintf(number, sizeof number, "%d", count);
    char *words[] = {"child of : a, family", number, NULL};
    int codes[4] = {-1, -1, -1, -1}, root = count % size, there;
    CHECK_OK(MPI_Comm_spawn(argv[0], words, count, MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes));
    if (children == MPI_COMM_NULL) break;
    for (int i = 0; i < count; i++) CHECK_EQUAL(codes[i], MPI_SUCCESS);
    CHECK_OK(MPI_Comm_remote_size(children, &there));
    CHECK_EQUAL(there, count);
    family_life(children, 0);
    int failures = 0;
    int me = check_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    CHECK_OK(MPI_Reduce(NULL, &failures, 1, MPI_INT, MPI_SUM, me, children));
    if (check_rank == 0) CHECK_EQUAL(failures, 0);
    CHECK_OK(MPI_Comm_disconnect(&children));
  }
  return check_end();
}
