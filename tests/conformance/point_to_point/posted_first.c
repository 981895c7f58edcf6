// A receive that was posted first gets the message that comes first, also when a blocking receive, a probe or a polling
// test of the same rank looks for it at that moment; with pairs of ranks that talk so much that they have ways of their
// own.
// weft-test: ranks=2,4
#include "../check.h"

enum { WARM = 300, ROUNDS = 1500 };

int main(int argc, char **argv) {
  int rank, token = 0;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int other = rank ^ 1, sends = rank % 2 == 0;
  for (int i = 0; i < WARM; i++) {
    if (sends)
      CHECK_OK(MPI_Send(&i, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(&token, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (!sends)
      CHECK_OK(MPI_Send(&i, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
  }
  for (int round = 0; round < ROUNDS; round++) {
    int first = 2 * round, second = 2 * round + 1;
    if (sends) { // Two messages, when the receives are in place.
      CHECK_OK(MPI_Recv(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Send(&first, 1, MPI_INT, other, round % 2, MPI_COMM_WORLD));
      CHECK_OK(MPI_Send(&second, 1, MPI_INT, other, round % 2, MPI_COMM_WORLD));
      continue;
    }
    int early = -1, late = -1, flag = 0, source = round % 3 ? other : MPI_ANY_SOURCE;
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    CHECK_OK(MPI_Irecv(&early, 1, MPI_INT, round % 5 ? other : MPI_ANY_SOURCE, round % 7 ? MPI_ANY_TAG : round % 2,
                       MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Send(&round, 1, MPI_INT, other, 1, MPI_COMM_WORLD));
    switch (round % 6) {
    case 0:
    case 1:
      CHECK_OK(MPI_Recv(&late, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      break;
    case 2:
      CHECK_OK(MPI_Probe(source, round % 2, MPI_COMM_WORLD, &status));
      CHECK_OK(MPI_Recv(&late, 1, MPI_INT, other, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      break;
    case 3:
      CHECK_OK(MPI_Mprobe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
      CHECK_OK(MPI_Mrecv(&late, 1, MPI_INT, &message, &status));
      break;
    case 4: // Posted while the first one may be on its way.
      CHECK_OK(MPI_Irecv(&late, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]));
      while (!flag)
        CHECK_OK(MPI_Test(&requests[1], &flag, &status));
      break;
    default:
      while (!flag)
        CHECK_OK(MPI_Improbe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
      CHECK_OK(MPI_Mrecv(&late, 1, MPI_INT, &message, &status));
    }
    CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_EQUAL(early, first);
    CHECK_EQUAL(late, second);
  }
  return check_end();
}
