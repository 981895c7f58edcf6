// Communicators come and go by the hundred, in an order every rank draws from the same seed; each is used before it
// goes, and messages on it must not meet those of an older one that had its number.
//
// usage: communicators SEED STEPS
#include "check.h"
#include <stdint.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  enum { LIVE = 40 };
  uint64_t state = (uint64_t)(argc > 1 ? atoi(argv[1]) : 1);
  int steps = argc > 2 ? atoi(argv[2]) : 400, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm live[LIVE];
  for (int i = 0; i < LIVE; i++) live[i] = MPI_COMM_NULL;
  for (int step = 0; step < steps; step++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    unsigned draw = (unsigned)(state >> 33);
    MPI_Comm *slot = &live[draw % LIVE];
    if (*slot != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(slot));
    if (draw / LIVE % 3 == 0) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, slot));
    else CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % (int)(1 + draw / LIVE % 4), step % 2 ? check_rank : -check_rank, slot));
    int rank, part;
    MPI_Comm_rank(*slot, &rank);
    MPI_Comm_size(*slot, &part);
    int out[2] = {step, rank}, in[2] = {-1, -1};
    CHECK_OK(MPI_Sendrecv(out, 2, MPI_INT, (rank + 1) % part, 0, in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, *slot, MPI_STATUS_IGNORE));
    CHECK(in[0] == step && in[1] == (rank + part - 1) % part);
    int sum = 0;
    CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *slot));
    CHECK_EQUAL(sum, part * (part - 1) / 2);
  }
  for (int i = 0; i < LIVE; i++)
    if (live[i] != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&live[i]));
  return check_end();
}
