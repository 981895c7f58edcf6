// The way chapter 4 shows it: OpenMP tasks make the sender's partitions ready as they finish, and tasks of the receiver
// work on each of theirs as soon as it is there.
// weft-test: ranks=2,4
#include "../check.h"
#include <omp.h>

enum { SENDING = 24, RECEIVING = 8, COUNT = 500, TOTAL = SENDING * COUNT, ROUNDS = 6 };

int main(int argc, char **argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_rank = rank;
  static double message[TOTAL];
  MPI_Request request;
  if (rank % 2 == 0)
    CHECK_OK(MPI_Psend_init(message, SENDING, COUNT, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  else
    CHECK_OK(MPI_Precv_init(message, RECEIVING, TOTAL / RECEIVING, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &request));
  for (int round = 0; round < ROUNDS; round++) {
    double sums[RECEIVING] = {0};
    CHECK_OK(MPI_Start(&request));
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int p = 0; p < (rank % 2 ? RECEIVING : SENDING); p++)
#pragma omp task firstprivate(p)
    {
      if (rank % 2 == 0) {
        for (int i = p * COUNT; i < (p + 1) * COUNT; i++)
          message[i] = round * TOTAL + i;
        CHECK_OK(MPI_Pready(p, request));
      } else {
        int flag = 0;
        while (!flag)
          CHECK_OK(MPI_Parrived(request, p, &flag));
        for (int i = p * (TOTAL / RECEIVING); i < (p + 1) * (TOTAL / RECEIVING); i++)
          sums[p] += message[i];
      }
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int p = 0; p < RECEIVING && rank % 2; p++) {
      double each = TOTAL / RECEIVING, first = round * TOTAL + p * each;
      CHECK(sums[p] == each * first + each * (each - 1) / 2);
    }
  }
  CHECK_OK(MPI_Request_free(&request));
  return check_end();
}
