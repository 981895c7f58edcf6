// Programs that cannot be started: every rank is told, and goes on.
// weft-test: ranks=1,3 faults=yes
#include "family.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm children = MPI_COMM_WORLD;
  int codes[3] = {-1, -1, -1}, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_CLASS(MPI_Comm_spawn("./there-is-no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                             codes), MPI_ERR_SPAWN);
  CHECK(children == MPI_COMM_NULL);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(codes[i], MPI_ERR_SPAWN);
  char *commands[] = {argv[0], "./there-is-no-such-program"};
  int numbers[] = {1, 2};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  CHECK_CLASS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, numbers, infos, size - 1, MPI_COMM_WORLD, &children,
                                      MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &children, codes),
              MPI_ERR_ROOT);
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "arch", "abacus"));
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &children, codes), MPI_ERR_SPAWN);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  return check_end();
}
