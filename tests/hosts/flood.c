// All ranks but the last send it much more than fits anywhere, each so many messages; the last receives late, from whoever is
// there. Prints by how much the most memory that its process had grew.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1024 };

static long peak_kib(void) {
  char line[128];
  long kib = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld kB", &kib);
  return kib;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, messages = atoi(argv[1]), wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int last = size - 1, words = BYTES / sizeof(int);
  int *data = calloc(1, BYTES), *next = calloc(size, sizeof *next);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = peak_kib();
  if (rank != last) {
    for (int i = 0; i < messages; i++) {
      data[0] = data[words - 1] = i;
      MPI_Send(data, BYTES, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    }
  } else {
    usleep(500000);  // Lets the flood rise; whatever has come by then is right.
    for (long i = 0; i < (long)messages * last; i++) {
      MPI_Status status;
      MPI_Recv(data, BYTES, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
      int expected = next[status.MPI_SOURCE]++;
      wrong += data[0] != expected || data[words - 1] != expected;
    }
    printf("grew by %ld KiB, %d wrong\n", peak_kib() - before, wrong);
  }
  MPI_Finalize();
  return wrong != 0;
}
