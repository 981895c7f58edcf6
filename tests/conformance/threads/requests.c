// OpenMP threads of every rank work on requests of their own at the same time: each completes its list by another
// procedure, on one of two communicators, with wildcards told apart by the thread's tags; some are cancelled.
#include "../check.h"
#include <omp.h>

enum { THREADS = 4, LIST = 6, ROUNDS = 24, LENGTH = 3000 };

int main(int argc, char **argv) {
  int provided, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_rank = rank;
  CHECK_EQUAL(provided, MPI_THREAD_MULTIPLE);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
#pragma omp parallel num_threads(THREADS)
  {
    int me = omp_get_thread_num();
    int *in = malloc(LIST * LENGTH * sizeof(int)), *out = malloc(LIST * LENGTH * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
      MPI_Comm comm = comms[(me + round) % 2];
      MPI_Request requests[2 * LIST], never;
      MPI_Status statuses[2 * LIST], status;
      int indices[2 * LIST], count, index, flag, seen = 0, nothing = -1, cancelled = -1;
      // Nobody sends with this tag.
      CHECK_OK(MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 1000 + me, comm, &never));
      for (int i = 0; i < LIST; i++) {
        int length = i % 3 ? 1 + i : LENGTH;
        for (int k = 0; k < length; k++)
          out[i * LENGTH + k] = rank * 1000 + me * 100 + i;
        in[i * LENGTH] = in[i * LENGTH + length - 1] = -1;
        CHECK_OK(MPI_Irecv(in + i * LENGTH, LENGTH, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, 10 * me + i, comm,
                           &requests[i]));
        CHECK_OK(MPI_Isend(out + i * LENGTH, length, MPI_INT, right, 10 * me + i, comm, &requests[LIST + i]));
      }
      for (int done = 0; done < 2 * LIST; done += count) {
        count = 1;
        switch ((me + round) % 6) {
        case 0:
          CHECK_OK(MPI_Waitany(2 * LIST, requests, indices, statuses));
          break;
        case 1:
          CHECK_OK(MPI_Waitsome(2 * LIST, requests, &count, indices, statuses));
          break;
        case 2:
          CHECK_OK(MPI_Testsome(2 * LIST, requests, &count, indices, statuses));
          break;
        case 3:
          for (flag = 0; !flag;)
            CHECK_OK(MPI_Testany(2 * LIST, requests, indices, &flag, statuses));
          break;
        case 4:
          for (flag = 0; !flag;)
            CHECK_OK(MPI_Testall(2 * LIST, requests, &flag, statuses));
          count = 2 * LIST;
          break;
        default:
          CHECK_OK(MPI_Waitall(2 * LIST, requests, statuses));
          count = 2 * LIST;
        }
        for (int k = 0; k < count; k++) {
          index = count == 2 * LIST ? k : indices[k];
          CHECK(index >= 0 && index < 2 * LIST && !(seen >> index & 1) && requests[index] == MPI_REQUEST_NULL);
          seen |= 1 << index;
          if (index < LIST) {
            int length = index % 3 ? 1 + index : LENGTH, got = -1;
            CHECK_EQUAL(statuses[k].MPI_SOURCE, left);
            CHECK_EQUAL(statuses[k].MPI_TAG, 10 * me + index);
            MPI_Get_count(&statuses[k], MPI_INT, &got);
            CHECK_EQUAL(got, length);
            CHECK_EQUAL(in[index * LENGTH], left * 1000 + me * 100 + index);
            CHECK_EQUAL(in[index * LENGTH + length - 1], left * 1000 + me * 100 + index);
          }
        }
      }
      CHECK_OK(MPI_Cancel(&never));
      CHECK_OK(MPI_Wait(&never, &status));
      CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
      CHECK(cancelled == 1 && nothing == -1);
    }
    free(in);
    free(out);
  }
  MPI_Comm_free(&comms[1]);
  return check_end();
}
