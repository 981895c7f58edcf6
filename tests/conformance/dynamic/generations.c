// Children start children of their own; grandparents and grandchildren meet through those between.
// weft-test: ranks=1,2
#include "family.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm parent, children, all, local, bridge;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  int generation = argc > 1 ? atoi(argv[1]) : 0;
  CHECK_EQUAL(parent != MPI_COMM_NULL, generation > 0);
  if (generation < 2) {
    char next[2] = {'1' + generation, 0}, *words[] = {next, NULL};
    CHECK_OK(MPI_Comm_spawn(argv[0], words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    family_life(children, 0);
  }
  if (generation > 0) family_life(parent, 1);
  if (generation == 1) {
    // The first and the third generation join what the second has in common with each.
    CHECK_OK(MPI_Intercomm_merge(parent, 1, &all));
    CHECK_OK(MPI_Intercomm_merge(children, 0, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, all, 0, 7, &bridge));
  } else if (generation == 0) {
    CHECK_OK(MPI_Intercomm_merge(children, 0, &all));
    int size, leader;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leader = size;
    CHECK_OK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, all, leader, 7, &bridge));
  } else {
    CHECK_OK(MPI_Intercomm_merge(parent, 1, &local));
    CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 7, &bridge));
  }
  family_life(bridge, generation == 0);
  CHECK_OK(MPI_Comm_disconnect(&bridge));
  if (generation < 2) CHECK_OK(MPI_Comm_disconnect(&all));
  if (generation > 0) CHECK_OK(MPI_Comm_disconnect(&local));
  if (generation < 2) CHECK_OK(MPI_Comm_disconnect(&children));
  if (generation > 0) CHECK_OK(MPI_Comm_disconnect(&parent));
  return check_end();
}
