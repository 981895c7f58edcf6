// Partitions of both sides need not be the same: all counts of both with equal total size, started again and again,
// with types with and without gaps, made ready one by one, by range, by list, in any order.
#include "../check.h"

enum { TOTAL = 5040, ROUNDS = 4 };

static int left, right, rank;
static double out[2 * TOTAL + 8], in[2 * TOTAL + 8];

static double value(int owner, int round, int i) { return owner * 1e6 + round * 1e4 + i; }

// Makes all partitions ready, in an order that depends on `way`.
static void make_ready(MPI_Request request, int partitions, int way) {
  int list[TOTAL];
  switch (way % 4) {
  case 0:
    for (int p = partitions - 1; p >= 0; p--)
      CHECK_OK(MPI_Pready(p, request));
    break;
  case 1:
    CHECK_OK(MPI_Pready_range(0, partitions - 1, request));
    break;
  case 2: // The odd ones backwards, then the even ones.
    for (int p = 0; p < partitions; p++)
      list[p] = p < partitions / 2 ? 2 * (partitions / 2 - p) - 1 : 2 * (p - partitions / 2);
    CHECK_OK(MPI_Pready_list(partitions, list, request));
    CHECK_OK(MPI_Pready_list(0, NULL, request));
    break;
  default:
    CHECK_OK(MPI_Pready_range(partitions / 2, partitions / 2, request));
    if (partitions / 2 > 0)
      CHECK_OK(MPI_Pready_range(0, partitions / 2 - 1, request));
    if (partitions / 2 < partitions - 1)
      CHECK_OK(MPI_Pready_range(partitions / 2 + 1, partitions - 1, request));
  }
}

// Sends TOTAL doubles in `theirs` partitions and receives them in `mine`; `gap` is the distance of elements in memory.
static void exchange(int theirs, int mine, int out_gap, int in_gap) {
  MPI_Datatype types[3] = {MPI_DATATYPE_NULL, MPI_DOUBLE, MPI_DATATYPE_NULL};
  CHECK_OK(MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &types[2]));
  CHECK_OK(MPI_Type_commit(&types[2]));
  MPI_Request requests[2];
  CHECK_OK(MPI_Psend_init(out, theirs, TOTAL / theirs, types[out_gap], right, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(MPI_Precv_init(in, mine, TOTAL / mine, types[in_gap], left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  // Requests keep their datatypes.
  CHECK_OK(MPI_Type_free(&types[2]));
  for (int round = 0; round < ROUNDS; round++) {
    int flag = 0, count = -1;
    MPI_Status statuses[2];
    for (int i = 0; i < 2 * TOTAL; i++) {
      out[i] = i % out_gap ? -1 : value(rank, round, i / out_gap);
      in[i] = -7;
    }
    if (round % 2) { // Ready before the receiver has started, most likely.
      CHECK_OK(MPI_Start(&requests[0]));
      make_ready(requests[0], theirs, round);
      CHECK_OK(MPI_Start(&requests[1]));
    } else {
      CHECK_OK(MPI_Startall(2, requests));
      make_ready(requests[0], theirs, round);
    }
    switch (round) {
    case 0:
      for (int p = 0; p < mine; p++)
        for (flag = 0; !flag;) {
          CHECK_OK(MPI_Parrived(requests[1], p, &flag));
          if (flag) // The partition is there, whatever else is missing.
            for (int i = p * (TOTAL / mine); i < (p + 1) * (TOTAL / mine); i += 7)
              CHECK_EQUAL(in[i * in_gap], value(left, round, i));
        }
      CHECK_OK(MPI_Waitall(2, requests, statuses));
      break;
    case 1:
      CHECK_OK(MPI_Wait(&requests[1], &statuses[1]));
      CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
      break;
    case 2:
      for (int done = 0; done < 2; done++) {
        int index;
        MPI_Status status;
        CHECK_OK(MPI_Waitany(2, requests, &index, &status));
        CHECK(index == 0 || index == 1);
        statuses[index] = status;
      }
      break;
    default:
      for (flag = 0; !flag;)
        CHECK_OK(MPI_Testall(2, requests, &flag, statuses));
    }
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    CHECK_EQUAL(statuses[1].MPI_SOURCE, left);
    CHECK_EQUAL(statuses[1].MPI_TAG, 5);
    CHECK_OK(MPI_Get_count(&statuses[1], MPI_DOUBLE, &count));
    CHECK_EQUAL(count, TOTAL);
    for (int i = 0; i < TOTAL * in_gap; i++)
      if (in[i] != (i % in_gap ? -7 : value(left, round, i / in_gap))) {
        CHECK_EQUAL(in[i], value(left, round, i / in_gap));
        break;
      }
    // Inactive now: everything has arrived, and completion is empty.
    CHECK_OK(MPI_Parrived(requests[1], mine - 1, &flag));
    CHECK_EQUAL(flag, 1);
    CHECK_OK(MPI_Wait(&requests[1], &statuses[1]));
    CHECK_EQUAL(statuses[1].MPI_SOURCE, MPI_ANY_SOURCE);
  }
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_Request_free(&requests[i]));
    CHECK(requests[i] == MPI_REQUEST_NULL);
  }
}

int main(int argc, char **argv) {
  int size;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  static const int partitions[] = {1, 2, 3, 7, 16, 80, 5040};
  enum { SHAPES = sizeof(partitions) / sizeof(partitions[0]) };
  for (int a = 0; a < SHAPES; a++)
    for (int b = 0; b < SHAPES; b++)
      exchange(partitions[a], partitions[b], 1 + (a + b) % 2, 1 + a % 2);

  // No data: still every partition must be made ready.
  MPI_Request requests[2];
  int flag = -1, count = -1;
  MPI_Status status;
  CHECK_OK(MPI_Psend_init(NULL, 3, 0, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  CHECK_OK(MPI_Precv_init(NULL, 2, 0, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < 3; round++) {
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_OK(MPI_Pready(2, requests[0]));
    CHECK_OK(MPI_Pready(0, requests[0]));
    MPI_Barrier(MPI_COMM_WORLD); // The middle one, in which both of the receiver's have a part, is not ready.
    CHECK_OK(MPI_Test(&requests[1], &flag, &status));
    CHECK_EQUAL(flag, 0);
    for (int p = 0; p < 2; p++) {
      CHECK_OK(MPI_Parrived(requests[1], p, &flag));
      CHECK_EQUAL(flag, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_Pready_range(1, 1, requests[0]));
    CHECK_OK(MPI_Wait(&requests[1], &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0 && status.MPI_SOURCE == left);
    CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  return check_end();
}
