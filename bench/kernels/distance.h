// How far from each other the cores of two ranks are, by the time in which one hands a line of memory to the other. A
// machine's kernel or host moves ranks and cores about: what is measured while they share a cache cannot be compared with what
// is measured while they do not.
#ifndef WEFT_BENCH_DISTANCE_H
#define WEFT_BENCH_DISTANCE_H
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// From how many nanoseconds for a handoff on cores are far. Those that share a cache take 20 to 70.
enum { FAR = 120, HANDOFFS = 100 };

// Makes the line, which two ranks share whatever they are. It has no name afterwards.
static _Atomic long *distance_line(int rank) {
  char path[64] = "/dev/shm/weft-bench-XXXXXX";
  int file = -1;
  if (rank == 0) {
    file = mkstemp(path);
    if (file < 0 || ftruncate(file, 4096)) {
      perror(path);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank) file = open(path, O_RDWR);
  void *line = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (line == MAP_FAILED) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) unlink(path);
  return line;
}

static void distance_await(_Atomic long *line, long value) {
  for (int looks = 0; atomic_load_explicit(line, memory_order_acquire) != value; looks++)
    if (looks % 4096 == 4095) sched_yield();
}

// Tells whether the cores of ranks 0 and 1, which both call this, are far from each other.
static int is_far(_Atomic long *line, int rank) {
  long turn = 0;
  double start = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < HANDOFFS; i++, turn += 2) {
    if (i == HANDOFFS / 4) start = MPI_Wtime(); // Both are there by now.
    if (rank == 0) {
      atomic_store_explicit(line, turn + 1, memory_order_release);
      distance_await(line, turn + 2);
    } else {
      distance_await(line, turn + 1);
      atomic_store_explicit(line, turn + 2, memory_order_release);
    }
  }
  double handoff = (MPI_Wtime() - start) * 1e9 / (2 * (HANDOFFS - HANDOFFS / 4));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) atomic_store(line, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  return handoff >= FAR;
}
#endif
