// The first half of the ranks sends long messages to the second half, each in another way and mixed with short ones, over and
// over or so many times; whoever receives checks every byte.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4 << 20, AT_ONCE = 4 };

static const int lengths[] = {LONGEST, (1 << 20) + 3, 300000, 100, LONGEST - 4097, 70000};

static int length_of(int number) { return lengths[number % (int)(sizeof lengths / sizeof *lengths)]; }

static void fill(unsigned *data, int number) {
  for (int i = 0; i < LONGEST / 4; i++) data[i] = (unsigned)number * 2654435761u + (unsigned)i;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, messages = atoi(argv[1]), wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int half = size / 2, sends = rank < half, peer = sends ? rank + half : rank - half;
  unsigned *data[AT_ONCE], *expected = malloc(LONGEST);
  for (int i = 0; i < AT_ONCE; i++) data[i] = malloc(LONGEST);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ready\n"), fflush(stdout);
  for (int first = 0; messages == 0 || first < messages; first += AT_ONCE) {
    MPI_Request requests[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
      int bytes = length_of(first + i);
      if (sends) {
        fill(data[i], first + i);
        MPI_Isend(data[i], bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
      } else {
        memset(data[i], 0, LONGEST);
        // Some are not expected when they come, some get into a longer buffer.
        if (i < 2) MPI_Irecv(data[i], i ? LONGEST : bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
      }
    }
    for (int i = 2; i < AT_ONCE && !sends; i++) {
      MPI_Probe(peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Irecv(data[i], LONGEST, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Status statuses[AT_ONCE];
    MPI_Waitall(AT_ONCE, requests, statuses);
    for (int i = 0; i < AT_ONCE && !sends; i++) {
      int count;
      MPI_Get_count(&statuses[i], MPI_BYTE, &count);
      fill(expected, first + i);
      wrong += count != length_of(first + i) || memcmp(data[i], expected, (size_t)count) != 0;
    }
  }
  if (wrong) printf("rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
