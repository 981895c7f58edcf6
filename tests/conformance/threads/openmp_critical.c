// The unnamed critical section of OpenMP is one per rank: ranks meet in a barrier inside it. Threads of a rank exclude each
// other in it, and in atomic operations on types for which the processor has no instruction.
// weft-test: ranks=2,4 cflags=-fopenmp
#include "check.h"
#include <omp.h>

int main(int argc, char **argv) {
  int provided, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  volatile int inside = 0;
  int most = 0, count = 0;
#pragma omp parallel num_threads(2)
  for (int round = 0; round < 20; round++) {
#pragma omp critical
    {
      inside = inside + 1;
      most = inside > most ? inside : most;
      count++;
      MPI_Barrier(MPI_COMM_WORLD);
      inside = inside - 1;
    }
  }
  CHECK_EQUAL(most, 1);
  CHECK_EQUAL(count, 40);
  long double sum = 0;
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 1000; i++) {
#pragma omp atomic
    sum += 1;
  }
  CHECK(sum == 3000);
  // What a rank sets is its own.
  omp_set_num_threads(check_rank + 1);
  omp_set_schedule(omp_sched_dynamic, 10 + check_rank);
  omp_set_max_active_levels(2 + check_rank);
  omp_set_dynamic(check_rank % 2);
  MPI_Barrier(MPI_COMM_WORLD);
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  CHECK_EQUAL(omp_get_max_threads(), check_rank + 1);
  CHECK_EQUAL(chunk, 10 + check_rank);
  CHECK_EQUAL(omp_get_max_active_levels(), 2 + check_rank);
  CHECK_EQUAL(omp_get_dynamic(), check_rank % 2);
  return check_end();
}
