// OpenMP inside ranks: every thread of every rank exchanges messages with the thread of the same number in the
// neighbouring ranks, then all ranks sum a series with a parallel loop; both answers are compared with a serial one.
//
// usage: hybrid [THREADS-PER-RANK]
#include <math.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int private_value;
#pragma omp threadprivate(private_value)

int main(int argc, char **argv) {
  int provided, rank, size, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided != MPI_THREAD_MULTIPLE) {
    if (rank == 0) fprintf(stderr, "hybrid: needs MPI_THREAD_MULTIPLE, got %d\n", provided);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int threads = argc > 1 ? atoi(argv[1]) : 2;
  int right = (rank + 1) % size, left = (rank + size - 1) % size;

#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    int thread = omp_get_thread_num();
    private_value = rank * 1000 + thread;
    for (int round = 0; round < 20; round++) {
      int out = private_value + round, in = -1;
      MPI_Sendrecv(&out, 1, MPI_INT, right, thread, &in, 1, MPI_INT, left, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += in != left * 1000 + thread + round;
    }
    wrong += private_value != rank * 1000 + thread;
  }

  // The series 1/1^2 + 1/2^2 + ... dealt out to ranks, and within a rank to threads.
  long terms = 2000000;
  double mine = 0, sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : mine)
  for (long i = rank + 1; i <= terms; i += size) mine += 1.0 / ((double)i * (double)i);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  int all_wrong;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    double serial = 0;
    for (long i = 1; i <= terms; i++) serial += 1.0 / ((double)i * (double)i);
    all_wrong += !(fabs(sum - serial) < 1e-10);
    printf("hybrid: %d ranks of %d threads, sum %.12f, serial %.12f: %s\n", size, threads, sum, serial,
           all_wrong ? "WRONG" : "right");
  }
  MPI_Bcast(&all_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_wrong != 0;
}
