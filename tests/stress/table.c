// Random updates of a table that is spread over the ranks, in the manner of HPCC's RandomAccess: every rank sends
// batches of updates, takes in those of others by several wildcard receives and MPI_Testany, ends with a last message
// to everybody, and cancels its receives. The table's sum tells whether an update was lost.
//
// usage: table SEED BATCHES
#include "check.h"
#include <stdint.h>

enum { RECEIVES = 4, LARGEST = 64, UPDATE = 1, LAST = 2 };

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, batches = argc > 2 ? atoi(argv[2]) : 200;
  uint64_t state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) * 9176u + (unsigned)check_rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int phase = 0; phase < 3; phase++) {
    long received = 0, sent = 0, in[RECEIVES][LARGEST], out[LARGEST];
    MPI_Request requests[RECEIVES], outgoing = MPI_REQUEST_NULL, *last = malloc(sizeof *last * (size_t)size);
    int others = size;
    for (int i = 0; i < RECEIVES; i++)
      CHECK_OK(MPI_Irecv(in[i], LARGEST, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
    for (int batch = 0; others > 0;) {
      int index, flag = 1, count;
      MPI_Status status;
      if (batch > batches) CHECK_OK(MPI_Waitany(RECEIVES, requests, &index, &status));
      else CHECK_OK(MPI_Testany(RECEIVES, requests, &index, &flag, &status));
      if (flag) {
        if (status.MPI_TAG == UPDATE) {
          MPI_Get_count(&status, MPI_LONG, &count);
          for (int i = 0; i < count; i++) received += in[index][i];
        } else {
          others--;
        }
        CHECK_OK(MPI_Irecv(in[index], LARGEST, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[index]));
      }
      if (batch > batches) continue;
      CHECK_OK(MPI_Test(&outgoing, &flag, MPI_STATUS_IGNORE));
      if (flag && batch++ < batches) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        count = 1 + (int)((state >> 33) % LARGEST);
        for (int i = 0; i < count; i++) sent += out[i] = (long)((state >> 20) + (uint64_t)i) % 1000;
        CHECK_OK(MPI_Isend(out, count, MPI_LONG, (int)((state >> 40) % (unsigned)size), UPDATE, MPI_COMM_WORLD, &outgoing));
      } else if (flag) {
        for (int i = 0; i < size; i++) CHECK_OK(MPI_Isend(NULL, 0, MPI_LONG, i, LAST, MPI_COMM_WORLD, &last[i]));
      }
    }
    CHECK_OK(MPI_Waitall(size, last, MPI_STATUSES_IGNORE));
    // Nobody may send of the next phase before all have cancelled the receives of this one.
    for (int i = 0; i < RECEIVES; i++) {
      MPI_Status status;
      int cancelled = 0;
      CHECK_OK(MPI_Cancel(&requests[i]));
      CHECK_OK(MPI_Wait(&requests[i], &status));
      MPI_Test_cancelled(&status, &cancelled);
      CHECK(cancelled);
    }
    long all_sent, all_received;
    CHECK_OK(MPI_Allreduce(&sent, &all_sent, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_OK(MPI_Allreduce(&received, &all_received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQUAL(all_received, all_sent);
    free(last);
  }
  return check_end();
}
