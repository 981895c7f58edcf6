// Rank 0 sends much more than fits anywhere to a rank on another host that receives late; prints the most memory that one had.
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
  int rank, messages = atoi(argv[1]), wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int *data = calloc(1, BYTES);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = peak_kib();
  if (rank == 0) {
    for (int i = 0; i < messages; i++) {
      data[0] = data[BYTES / sizeof *data - 1] = i;
      MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
  } else if (rank == 1) {
    usleep(500000);  // Lets the flood rise; whatever has come by then is right.
    for (int i = 0; i < messages; i++) {
      MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += data[0] != i || data[BYTES / sizeof *data - 1] != i;
    }
    printf("grew by %ld KiB, %d wrong\n", peak_kib() - before, wrong);
  }
  MPI_Finalize();
  return wrong != 0;
}
