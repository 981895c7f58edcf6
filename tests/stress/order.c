// Messages of one sender, communicator and tag never overtake each other, whatever their sizes and modes, while every
// rank bombards every other one.
//
// usage: order SEED MESSAGES-PER-PAIR
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, per_pair = argc > 2 ? atoi(argv[2]) : 50;
  uint64_t state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1) * 7919u + (unsigned)check_rank;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enum { LARGEST = 6000 };  // ints
  int total = size * per_pair, *expected = calloc((size_t)size, sizeof(int));
  MPI_Request *requests = malloc(sizeof *requests * (size_t)total);
  int **buffers = malloc(sizeof *buffers * (size_t)total), *in = malloc(sizeof(int) * LARGEST);
  for (int i = 0; i < total; i++) {
    int target = (check_rank + i) % size;
    state = state * 6364136223846793005u + 1442695040888963407u;
    int count = (state >> 40) % 10 ? 2 + (int)((state >> 33) % 30) : 2 + (int)((state >> 33) % (LARGEST - 2));
    buffers[i] = malloc(sizeof(int) * (size_t)count);
    buffers[i][0] = i / size;
    for (int k = 1; k < count; k++) buffers[i][k] = count;
    if ((state >> 50) % 2) CHECK_OK(MPI_Isend(buffers[i], count, MPI_INT, target, 4, MPI_COMM_WORLD, &requests[i]));
    else CHECK_OK(MPI_Issend(buffers[i], count, MPI_INT, target, 4, MPI_COMM_WORLD, &requests[i]));
  }
  for (int i = 0; i < total; i++) {
    MPI_Status status;
    int count;
    CHECK_OK(MPI_Recv(in, LARGEST, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(in[0], expected[status.MPI_SOURCE]);
    expected[status.MPI_SOURCE]++;
    for (int k = 1; k < count; k++)
      if (in[k] != count) {
        CHECK_EQUAL(in[k], count);
        break;
      }
  }
  CHECK_OK(MPI_Waitall(total, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < size; i++) CHECK_EQUAL(expected[i], per_pair);
  for (int i = 0; i < total; i++) free(buffers[i]);
  free(buffers), free(requests), free(expected), free(in);
  return check_end();
}
