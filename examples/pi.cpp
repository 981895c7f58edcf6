// Integrates 4 / (1 + x^2) over [0, 1]: the ranks share the intervals, rank 0 also sums them alone and compares.
//
// usage: pi [INTERVALS]
#include <mpi.h>

#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>

// Sums every step-th interval from first on by the midpoint rule.
static double integrate(long first, long step, long intervals) {
  const double width = 1.0 / static_cast<double>(intervals);
  double sum = 0;
  for (long i = first; i < intervals; i += step) {
    const double x = (static_cast<double>(i) + 0.5) * width;
    sum += 4.0 / (1.0 + x * x);
  }
  return sum * width;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long intervals = argc > 1 ? std::atol(argv[1]) : 10'000'000;
  MPI_Bcast(&intervals, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  const double mine = integrate(rank, size, intervals);
  double pi = 0;
  MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  int wrong = 0;
  if (rank == 0) {
    const double serial = integrate(0, 1, intervals);
    wrong = !(std::fabs(pi - serial) < 1e-10 && std::fabs(pi - std::acos(-1.0)) < 1e-10);
    std::cout << std::setprecision(15) << "pi: " << pi << " from " << size << " ranks, " << serial << " from one, "
              << std::setprecision(3) << seconds << " s: " << (wrong ? "WRONG" : "right") << std::endl;
  }
  MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
