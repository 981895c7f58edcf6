// Probes see messages and leave them; matched probes take them.
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size, flag, count;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  static int out[3][30000], in[30000];
  static const int lengths[3] = {1, 500, 30000};
  MPI_Status status, probed;
  MPI_Message message;
  MPI_Request requests[3], request;

  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK(flag == 0 && message == MPI_MESSAGE_NULL);
  MPI_Barrier(MPI_COMM_WORLD);

  for (int round = 0; round < 6; round++) {
    for (int l = 0; l < 3; l++) {
      out[l][0] = 1000 * rank + 10 * round + l;
      CHECK_OK(MPI_Isend(out[l], lengths[l], MPI_INT, right, l, MPI_COMM_WORLD, &requests[l]));
    }
    for (int l = 2; l >= 0; l--) {
      int source = round % 2 ? left : MPI_ANY_SOURCE;
      switch (round % 6) {
      case 0:
      case 1:
        CHECK_OK(MPI_Probe(source, l, MPI_COMM_WORLD, &probed));
        CHECK_OK(MPI_Recv(in, 30000, MPI_INT, probed.MPI_SOURCE, l, MPI_COMM_WORLD, &status));
        break;
      case 2:
        flag = 0;
        while (!flag)
          CHECK_OK(MPI_Iprobe(source, l, MPI_COMM_WORLD, &flag, &probed));
        CHECK_OK(MPI_Recv(in, 30000, MPI_INT, source, l, MPI_COMM_WORLD, &status));
        break;
      case 3:
        CHECK_OK(MPI_Mprobe(source, l, MPI_COMM_WORLD, &message, &probed));
        CHECK_OK(MPI_Mrecv(in, 30000, MPI_INT, &message, &status));
        CHECK(message == MPI_MESSAGE_NULL);
        break;
      case 4:
        flag = 0;
        while (!flag)
          CHECK_OK(MPI_Improbe(source, l, MPI_COMM_WORLD, &flag, &message, &probed));
        CHECK_OK(MPI_Imrecv(in, 30000, MPI_INT, &message, &request));
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK_OK(MPI_Wait(&request, &status));
        break;
      case 5: // A message that is matched is out of sight of probes and receives.
        CHECK_OK(MPI_Mprobe(source, l, MPI_COMM_WORLD, &message, &probed));
        CHECK_OK(MPI_Iprobe(source, l, MPI_COMM_WORLD, &flag, &status));
        CHECK_EQUAL(flag, 0);
        CHECK_OK(MPI_Mrecv(in, 30000, MPI_INT, &message, &status));
        break;
      }
      CHECK_EQUAL(probed.MPI_SOURCE, left);
      CHECK_EQUAL(probed.MPI_TAG, l);
      CHECK_EQUAL(status.MPI_SOURCE, left);
      MPI_Get_count(&probed, MPI_INT, &count);
      CHECK_EQUAL(count, lengths[l]);
      MPI_Get_count(&status, MPI_INT, &count);
      CHECK_EQUAL(count, lengths[l]);
      CHECK_EQUAL(in[0], 1000 * left + 10 * round + l);
    }
    CHECK_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
  }

  CHECK_OK(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
  CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC);
  CHECK_OK(MPI_Mrecv(in, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
  CHECK_CLASS(MPI_Mrecv(in, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
  return check_end();
}
