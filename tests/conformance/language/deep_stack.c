// Ranks use deep stacks: a megabyte each, touched while the others run, and alloca between calls.
#include "check.h"
#include <alloca.h>

static int descend(int depth) {
  volatile char page[4096];
  page[0] = (char)depth, page[4095] = (char)check_rank;
  if (depth % 64 == 0) MPI_Barrier(MPI_COMM_WORLD);
  int below = depth ? descend(depth - 1) : 0;
  CHECK(page[0] == (char)depth && page[4095] == (char)check_rank);
  return below + 1;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  CHECK_EQUAL(descend(256), 257);
  for (int i = 1; i < 50; i++) {
    char *block = alloca((size_t)i * 100);
    memset(block, check_rank, (size_t)i * 100);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(block[i * 100 - 1] == (char)check_rank);
  }
  return check_end();
}
