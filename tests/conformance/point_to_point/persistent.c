// Persistent operations are started again and again; inactive ones complete at once with an empty status.
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size, flag, cancelled;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  enum { LENGTH = 5000 };
  static int out[4][LENGTH], in[4][LENGTH];
  int space = 2 * (LENGTH * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc(space);
  CHECK_OK(MPI_Buffer_attach(buffer, space));
  MPI_Request requests[8];
  for (int i = 0; i < 4; i++)
    CHECK_OK(MPI_Recv_init(in[i], LENGTH, MPI_INT, i == 1 ? MPI_ANY_SOURCE : left, i, MPI_COMM_WORLD, &requests[i]));
  CHECK_OK(MPI_Send_init(out[0], LENGTH, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[4]));
  CHECK_OK(MPI_Ssend_init(out[1], 3, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[5]));
  CHECK_OK(MPI_Bsend_init(out[2], LENGTH, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[6]));
  CHECK_OK(MPI_Rsend_init(out[3], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[7]));
  MPI_Request before[8];
  memcpy(before, requests, sizeof(before));

  MPI_Status status, statuses[8];
  CHECK_OK(MPI_Wait(&requests[0], &status)); // Inactive.
  CHECK_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_OK(MPI_Test(&requests[4], &flag, &status));
  CHECK_EQUAL(flag, 1);
  CHECK_CLASS(MPI_Cancel(&requests[0]), MPI_ERR_REQUEST);

  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 4; i++)
      out[i][0] = 100000 * i + 1000 * rank + round;
    CHECK_OK(MPI_Startall(4, requests));
    CHECK_CLASS(MPI_Start(&requests[0]), MPI_ERR_REQUEST); // Active already.
    MPI_Barrier(MPI_COMM_WORLD);                           // Ready mode: all receives are posted.
    for (int i = 4; i < 8; i++)
      CHECK_OK(MPI_Start(&requests[i]));
    if (round % 2) {
      CHECK_OK(MPI_Waitall(8, requests, statuses));
      static const int counts[4] = {LENGTH, 3, LENGTH, 1};
      for (int i = 0; i < 4; i++) {
        int count;
        MPI_Get_count(&statuses[i], MPI_INT, &count);
        CHECK_EQUAL(count, counts[i]);
        CHECK_EQUAL(statuses[i].MPI_SOURCE, left);
      }
    } else {
      int index, seen = 0;
      for (int i = 0; i < 8; i++) {
        CHECK_OK(MPI_Waitany(8, requests, &index, &status));
        seen |= 1 << index;
      }
      CHECK_EQUAL(seen, 255);
      CHECK_OK(MPI_Waitany(8, requests, &index, &status));
      CHECK_EQUAL(index, MPI_UNDEFINED);
    }
    CHECK(memcmp(before, requests, sizeof(before)) == 0);
    for (int i = 0; i < 4; i++)
      CHECK_EQUAL(in[i][0], 100000 * i + 1000 * left + round);
  }

  // A started receive can be cancelled, and started again afterwards.
  CHECK_OK(MPI_Start(&requests[0]));
  CHECK_OK(MPI_Cancel(&requests[0]));
  CHECK_OK(MPI_Wait(&requests[0], &status));
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQUAL(cancelled, 1);
  MPI_Barrier(MPI_COMM_WORLD); // The neighbour sends only after the cancel.
  CHECK_OK(MPI_Startall(1, requests));
  CHECK_OK(MPI_Start(&requests[4]));
  CHECK_OK(MPI_Wait(&requests[0], &status));
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQUAL(cancelled, 0);
  CHECK_OK(MPI_Wait(&requests[4], MPI_STATUS_IGNORE));
  for (int i = 0; i < 8; i++) {
    CHECK_OK(MPI_Request_free(&requests[i]));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
  CHECK_CLASS(MPI_Start(&before[0]), MPI_ERR_REQUEST);

  MPI_Request none[2];
  CHECK_OK(MPI_Recv_init(in[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none[0]));
  CHECK_OK(MPI_Send_init(out[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none[1]));
  CHECK_OK(MPI_Startall(2, none));
  CHECK_OK(MPI_Waitall(2, none, statuses));
  CHECK_EQUAL(statuses[0].MPI_SOURCE, MPI_PROC_NULL);
  MPI_Request_free(&none[0]);
  MPI_Request_free(&none[1]);
  void *address;
  int length;
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  free(buffer);
  return check_end();
}
