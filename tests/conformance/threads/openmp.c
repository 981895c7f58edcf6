// OpenMP inside ranks: parallel regions between calls, calls from inside a region, threadprivate data of rank and
// thread, a lock held across a call, and a nested serial region after it.
// weft-test: cflags=-fopenmp
#include "check.h"
#include <omp.h>

static int counter = 5;
static int mine = 7;
#pragma omp threadprivate(mine)

int main(int argc, char **argv) {
  int provided, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;
  omp_set_dynamic(0);
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(3)
  {
    int thread = omp_get_thread_num();
    mine += 1000 * check_rank + thread;
#pragma omp atomic
    counter++;
  }
  CHECK_EQUAL(counter, 8);
  for (int round = 0; round < 10; round++) {
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    {
      int thread = omp_get_thread_num(), in = -1;
      MPI_Sendrecv(&mine, 1, MPI_INT, next, thread, &in, 1, MPI_INT, previous, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += in != 7 + 1000 * previous + thread;
#pragma omp critical
      MPI_Sendrecv(&thread, 1, MPI_INT, check_rank, 50, &in, 1, MPI_INT, check_rank, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += in != thread;
      omp_set_lock(&lock);
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      wrong += flag;
      omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp single
      MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_EQUAL(wrong, 0);
  }
  long sum = 0, all = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(2)
  for (long i = check_rank; i < 100000; i += size) sum += i;
  CHECK_OK(MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(all, 99999L * 100000 / 2);
  omp_destroy_lock(&lock);
  return check_end();
}
