// Structures that are put as bytes by MPI_Accumulate with MPI_REPLACE and read by MPI_Get_accumulate with MPI_NO_OP are those of one
// rank, whole: programs count on this where others do so at the same time.
#include "check.h"

enum { ROUNDS = 2000, WORDS = 3 };

typedef struct {
  int rank, words[WORDS];
} Structure;

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Structure *all, mine = {rank, {rank, rank, rank}}, seen;
  MPI_Win win;
  CHECK_OK(MPI_Win_allocate(sizeof *all, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &all, &win));
  *all = (Structure){0};
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Win_lock_all(0, win));
  for (int round = 0; round < ROUNDS; round++) {
    if ((round + rank) % 2) {
      CHECK_OK(MPI_Accumulate(&mine, sizeof mine, MPI_BYTE, 0, 0, sizeof mine, MPI_BYTE, MPI_REPLACE, win));
    } else {
      MPI_Get_accumulate(NULL, 0, MPI_BYTE, &seen, sizeof seen, MPI_BYTE, 0, 0, sizeof seen, MPI_BYTE, MPI_NO_OP, win);
      CHECK_OK(MPI_Win_flush(0, win));
      for (int i = 0; i < WORDS; i++) CHECK(seen.words[i] == seen.rank);
    }
  }
  CHECK_OK(MPI_Win_unlock_all(win));
  CHECK_OK(MPI_Win_free(&win));
  return check_end();
}
