// libquadmath teaches libc's printf a format when it is loaded, once per rank: what a rank prints with it is its own number.
#include <mpi.h>
#include <quadmath.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  __float128 value = rank + sqrtq(2);
  char text[100];
  for (int i = 0; i < 3; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(text, sizeof text, "%.20Qf", value);
  }
  printf("%d %s\n", rank, text);
  MPI_Finalize();
}
