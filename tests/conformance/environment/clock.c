// Clocks: they go forward, and where they are said to be global a message is never received before it was sent.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, *global, flag, again;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double tick = MPI_Wtick(), last = MPI_Wtime();
  CHECK(tick > 0 && tick < 1);
  for (int i = 0; i < 10000; i++) {
    double now = MPI_Wtime();
    CHECK(now >= last);
    last = now;
  }
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &flag));
  if (flag && *global) {
    int left = (check_rank + size - 1) % size, right = (check_rank + 1) % size;
    for (int i = 0; i < 200; i++) {
      double sent = MPI_Wtime(), from_left;
      CHECK_OK(MPI_Sendrecv(&sent, 1, MPI_DOUBLE, right, 0, &from_left, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
      CHECK(MPI_Wtime() >= from_left);
    }
  }
  // All ranks of one communicator see the same value.
  int mine = flag && *global;
  CHECK_OK(MPI_Allreduce(&mine, &again, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(again, mine * size);

  // The name and the version do not change, and have their end where they say.
  char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING], twice[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, second;
  memset(name, '#', sizeof name);
  CHECK_OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && name[length] == 0 && strlen(name) == (size_t)length);
  CHECK_OK(MPI_Get_library_version(version, &length));
  CHECK_OK(MPI_Get_library_version(twice, &second));
  CHECK(length == second && strcmp(version, twice) == 0 && strlen(version) == (size_t)length);
  CHECK_OK(MPI_Pcontrol(0));
  CHECK_OK(MPI_Pcontrol(2, "more", 1.5, &length));
  CHECK_OK(MPI_Pcontrol(1));
  return check_end();
}
