/* Buffers whose declaration and datatype go together, or whose declaration does not say what is in them.
   check: flags=-O0 */
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

static char bytes[64];
static unsigned unsigned_numbers[4];
static double _Complex complex_numbers[4];
static struct { int first; double second[2]; } mixed;
static union { int whole[4]; float real[4]; } either;
static double workspace[8];
enum color { RED, GREEN };

static void turn(void *buffer, int count, MPI_Datatype type)
{
  MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD);
}

/* What was in the frame before is in `unset` by chance: an address that main passes to MPI, too. */
static __attribute__((noinline)) void leave(void *address)
{
  void *volatile many[64];
  for (int i = 0; i < 64; i++) many[i] = address;
  (void)many[3];
}

static __attribute__((noinline)) void use(void **hidden)
{
  double *unset[32];
  double *one;
  MPI_Bcast(*hidden, 2, MPI_INT, 0, MPI_COMM_WORLD);
  one = *hidden;
  unset[0] = one;
  (void)unset[0];
}

int main(int argc, char **argv)
{
  enum color color = GREEN;
  int64_t wide[2] = {0, 0};
  MPI_Aint displacement = 0;
  void *hidden = malloc(64);
  double *numbers = malloc(64);
  int *as_integers = (int *)workspace;
  MPI_Init(&argc, &argv);
  MPI_Bcast(bytes, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Bcast(unsigned_numbers, 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(complex_numbers, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Bcast(complex_numbers, 4, MPI_C_DOUBLE_COMPLEX, 0, MPI_COMM_WORLD);
  MPI_Bcast(mixed.second, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&mixed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(either.real, 4, MPI_FLOAT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&color, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(wide, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  MPI_Bcast(wide, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(wide, 16, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&displacement, 1, MPI_AINT, 0, MPI_COMM_WORLD);
  MPI_Bcast(as_integers, 4, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(numbers, 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  turn(numbers, 8, MPI_DOUBLE);
  leave(hidden);
  use(&hidden);
  free(hidden);
  free(numbers);
  MPI_Finalize();
  return 0;
}
