// What a program does at its end happens in every rank, in the right order: functions given to atexit and destructors
// of objects with static storage run in the reverse order, after main, and see the rank's own variables.
// weft-test-output: rank 0: main, second, first, destroyed
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static int rank = -1;
static std::string story;

struct at_end {
  ~at_end() {
    story += ", destroyed";
    std::printf("rank %d: %s\n", rank, story.c_str());
    std::fflush(stdout);
    if (story != "main, second, first, destroyed") std::_Exit(9);
  }
};
static at_end object;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::atexit([] { story += ", first"; });
  std::atexit([] { story += ", second"; });
  story = "main";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  // Half of the ranks leave by exit, half by returning.
  if (rank % 2) std::exit(0);
  return 0;
}
