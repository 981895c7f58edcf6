// Thread-local data, static objects and their destruction, exceptions, all per rank.
#include <cstdio>
#include <mpi.h>
#include <stdexcept>
#include <string>

thread_local std::string mine = "rank";
struct Guest {
  std::string text;
  Guest() : text("guest") {}
  ~Guest() { std::printf("gone %s\n", text.c_str()); }
};
static Guest guest;
struct PerThread {
  int rank = -1;
  ~PerThread() { std::printf("thread of %d\n", rank); }
};
thread_local PerThread per_thread;

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine += std::to_string(rank);
  guest.text += std::to_string(rank);
  per_thread.rank = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    throw std::runtime_error(mine);
  } catch (const std::exception &caught) {
    std::printf("%s\n", caught.what());
  }
  MPI_Finalize();
}
