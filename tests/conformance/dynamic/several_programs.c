// Two programs in one spawn: places, arguments, directories, numbers of applications; every rank's own children.
// weft-test: ranks=1,2
#include "family.h"
#include <unistd.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm parent, children;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    int rank, size, *value, flag;
    char directory[4096];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK_EQUAL(size, 3);
    int second = rank >= 1;
    CHECK_EQUAL(argc, second ? 3 : 1);
    if (argc > 2) CHECK(strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two words") == 0);
    CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(flag && *value == second);
    CHECK(getcwd(directory, sizeof directory) && strcmp(directory, second ? "/usr" : "/") == 0);
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_get_errhandler(parent, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    CHECK_OK(MPI_Errhandler_free(&handler));
    family_life(parent, 0);
    CHECK_OK(MPI_Comm_free(&parent));
    return check_end();
  }
  char *commands[] = {argv[0], argv[0]}, *words[] = {"one", "two words", NULL}, **all_words[] = {MPI_ARGV_NULL, words};
  int numbers[] = {1, 2}, codes[] = {-1, -1, -1};
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "wdir", "/"));
  CHECK_OK(MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return"));
  CHECK_OK(MPI_Info_set(info, "a key of somebody else", "whatever"));
  // Ranks of one process share a directory; so these are in two.
  MPI_Info infos[] = {info, MPI_INFO_NULL};
  CHECK_OK(MPI_Info_dup(info, &infos[1]));
  CHECK_OK(MPI_Info_set(infos[1], "wdir", "/usr"));
  CHECK_OK(MPI_Comm_spawn_multiple(2, commands, all_words, numbers, infos, 0, MPI_COMM_SELF, &children, codes));
  for (int i = 0; i < 3; i++) CHECK_EQUAL(codes[i], MPI_SUCCESS);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Info_free(&infos[1]));
  if (children != MPI_COMM_NULL) {
    family_life(children, 1);
    // What is freed stays connected: both sides wait for each other at the end.
    CHECK_OK(MPI_Comm_free(&children));
  }
  return check_end();
}
