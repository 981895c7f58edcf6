// Partitions move when they are ready: the receiver sees each of them while others are still being made, and nothing of
// those.
#include "../check.h"

enum { PARTITIONS = 6, LENGTH = 20000 };

int main(int argc, char **argv) {
  int rank, size, flag;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  static int out[PARTITIONS * LENGTH], in[PARTITIONS * LENGTH];
  MPI_Request send, receive;
  CHECK_OK(MPI_Psend_init(out, PARTITIONS, LENGTH, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  // Half as many on this side: one arrives when both of its halves have.
  CHECK_OK(MPI_Precv_init(in, PARTITIONS / 2, 2 * LENGTH, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  static const int order[PARTITIONS] = {3, 0, 2, 5, 4, 1};
  for (int round = 0; round < 3; round++) {
    int made[PARTITIONS] = {0};
    for (int i = 0; i < PARTITIONS * LENGTH; i++)
      out[i] = in[i] = -1;
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Start(&send));
    for (int p = 0; p < PARTITIONS / 2; p++) {
      CHECK_OK(MPI_Parrived(receive, p, &flag));
      CHECK_EQUAL(flag, 0); // Also in later rounds: what arrived before does not count.
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < PARTITIONS; step++) {
      int p = order[step];
      for (int i = 0; i < LENGTH; i++)
        out[p * LENGTH + i] = 1000 * rank + 100 * round + p;
      CHECK_OK(MPI_Pready(p, send));
      made[p] = 1;
      for (int theirs = 0; theirs < PARTITIONS / 2; theirs++) {
        // Every rank makes the same steps, so the left one gets to this step without any help from here.
        flag = 0;
        while (made[2 * theirs] && made[2 * theirs + 1] && !flag)
          CHECK_OK(MPI_Parrived(receive, theirs, &flag));
        for (int half = 2 * theirs; flag && half < 2 * theirs + 2; half++) {
          CHECK_EQUAL(in[half * LENGTH], 1000 * left + 100 * round + half);
          CHECK_EQUAL(in[half * LENGTH + LENGTH - 1], 1000 * left + 100 * round + half);
        }
      }
      MPI_Barrier(MPI_COMM_WORLD);
      for (int theirs = 0; theirs < PARTITIONS / 2; theirs++) {
        CHECK_OK(MPI_Parrived(receive, theirs, &flag));
        CHECK_EQUAL(flag, made[2 * theirs] && made[2 * theirs + 1]);
      }
      for (int q = 0; q < PARTITIONS; q++)
        if (!made[q])
          CHECK_EQUAL(in[q * LENGTH], -1);
      if (step < PARTITIONS - 1) {
        CHECK_OK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
        CHECK_EQUAL(flag, 0);
        CHECK_OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        CHECK_EQUAL(flag, 0);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    // Complete, but active until the next call: there and still there.
    CHECK_OK(MPI_Parrived(receive, 0, &flag));
    CHECK_EQUAL(flag, 1);
    CHECK_OK(MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE));
    CHECK_EQUAL(flag, 1);
    CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
  return check_end();
}
