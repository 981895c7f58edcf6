// Rank 1 maps memory at an address where rank 0 has mapped some; `own` and `after` are uses that harm nobody.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PLACE ((char *)0x123400000000)
enum { LENGTH = 1 << 16 };

static char *map(char *place, int flags) {
  char *found = mmap(place, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (found == MAP_FAILED)
    perror("mmap"), MPI_Abort(MPI_COMM_WORLD, 9);
  return found;
}

int main(int argc, char **argv) {
  int rank;
  const char *how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *mine = PLACE;
  if (!strcmp(how, "own")) {
    // Reserves memory, places a mapping in the middle, moves all of it, and gives a part back.
    mine = map(NULL, 0);
    map(mine, MAP_FIXED);
    char *target = map(NULL, 0);
    mine = mremap(mine, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    munmap(mine + LENGTH / 2, LENGTH / 2);
  } else {
    for (int turn = 0; turn < 2; turn++) {
      if (rank == turn) {
        map(mine, MAP_FIXED);
        *mine = 'a' + rank;
        if (!strcmp(how, "after"))
          munmap(mine, LENGTH);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(how, "after"))
      mine = map(NULL, 0);
    else
      printf("%c\n", *mine);
  }
  *mine = 'x';
  MPI_Finalize();
  return 0;
}
