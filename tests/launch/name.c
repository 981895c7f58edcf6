/* A program that knows its own name. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("%d %s\n", rank, program_invocation_short_name);
  MPI_Finalize();
  return 0;
}
