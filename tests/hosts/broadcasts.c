// Broadcasts so many times from a root, in a communicator whose ranks are in the world's order or in another one.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  int times = atoi(argv[1]), root = atoi(argv[2]), bytes = atoi(argv[3]), step = atoi(argv[4]);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank * step % size, &comm);
  MPI_Comm_rank(comm, &rank);
  unsigned char *data = malloc(bytes);
  for (int time = 0; time < times; time++) {
    for (int i = 0; i < bytes; i++) data[i] = rank == root ? (unsigned char)(i * 7 + time) : 0;
    MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
    for (int i = 0; i < bytes; i++) wrong += data[i] != (unsigned char)(i * 7 + time);
  }
  if (wrong) printf("rank %d: %d bytes are wrong\n", rank, wrong);
  free(data);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return wrong != 0;
}
