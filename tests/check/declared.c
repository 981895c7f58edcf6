/* Buffers that are declared with another type than their calls say. Each is found once, though it is used again.
   check: flags=-O0
   check-output: sendbuf has another type than the call says: `numbers` is declared with elements of type double, not MPI_INT
   check-output: passed in MPI_Sendrecv at declared.c:@STATIC (in main)
   check-output: recvbuf has another type than the call says: `local` is declared with elements of type long int, not MPI_INT
   check-output: passed in MPI_Sendrecv at declared.c:@LOCAL (in main)
   check-output: `given` is declared with elements of type float, not MPI_DOUBLE
   check-output: passed in MPI_Bcast at declared.c:@GIVEN (in broadcast)
   check-output: `table` is declared with elements of type double, not MPI_FLOAT
   check-output: `other` is declared with elements of type int, not MPI_FLOAT
   check-output: weft check: 5 findings
*/
#include <mpi.h>
#include <stdlib.h>

static double numbers[8];
static const double table[2][4];

static void broadcast(const float *given, int count)
{
  MPI_Bcast((void *)given, count / 2, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* @GIVEN */
}

int main(int argc, char **argv)
{
  int rank, other[16];
  long local[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; i++) {
    MPI_Sendrecv(numbers + 1, 2, MPI_INT, !rank, 0, other, 2, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @STATIC */
    MPI_Sendrecv(other, 2, MPI_INT, !rank, 0, local, 2, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @LOCAL */
  }
  float *heap = malloc(64);
  broadcast(heap, 8);
  MPI_Allreduce(table, other, 4, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  free(heap);
  MPI_Finalize();
  return 0;
}
