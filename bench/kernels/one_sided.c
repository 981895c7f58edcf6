// One-sided operations of rank 0 on the last rank while the others wait in a barrier; fences of all ranks; beside what the processor
// takes for the same by itself, in samples that begin with `floor-`. Sizes are numbers of ranks; of `put` bytes.
//
// usage: one_sided [MILLISECONDS-PER-BATCH [puts | busy SECONDS]]
//   `puts`: puts of 8 bytes to 4 MiB, each completed by itself. `busy`: the target computes meanwhile, and 1000 fetch_and_ops are
//   timed by the microsecond each.
#include "sample.h"
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 6, LARGEST = 4 << 20, FETCHES = 1000 };
static MPI_Win win;
static int64_t *mine, *other, value, before, one = 1;
static int rank, ranks, target, bytes;
static char *buffer;

static void put(void) {
  MPI_Put(&value, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, win);
  MPI_Win_flush(target, win);
}
static void get(void) {
  MPI_Get(&value, 1, MPI_INT64_T, target, 8, 1, MPI_INT64_T, win);
  MPI_Win_flush(target, win);
}
static void fetch_and_op(void) {
  MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 16, MPI_SUM, win);
  MPI_Win_flush(target, win);
}
static void compare_and_swap(void) {
  MPI_Compare_and_swap(&one, &before, &value, MPI_INT64_T, target, 24, win);
  MPI_Win_flush(target, win);
}
static void accumulate(void) {
  MPI_Accumulate(&one, 1, MPI_INT64_T, target, 32, 1, MPI_INT64_T, MPI_SUM, win);
  MPI_Win_flush(target, win);
}
static void lock_unlock(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  MPI_Win_unlock(target, win);
}
static void fence(void) { MPI_Win_fence(0, win); }
static void atomic(void) { before = __atomic_fetch_add(&other[16], 1, __ATOMIC_SEQ_CST); }
static void put_bytes(void) {
  MPI_Put(buffer, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win);
  MPI_Win_flush(target, win);
}
static void copy_bytes(void) {
  memcpy(other, buffer, (size_t)bytes);
  __asm__ volatile("" : : "r"(other) : "memory");
}

static double seconds_of(void (*operation)(void), int repetitions) {
  double start = MPI_Wtime();
  for (int i = 0; i < repetitions; i++) operation();
  return MPI_Wtime() - start;
}

// Prints samples of an operation of this rank alone.
static void alone(const char *name, long size, void (*operation)(void), double batch_s) {
  int repetitions = 1;
  double elapsed;
  while ((elapsed = seconds_of(operation, repetitions)) < batch_s / 4) repetitions *= elapsed < batch_s / 100 ? 10 : 3;
  for (int batch = 0; batch < BATCHES; batch++) sample(name, size, seconds_of(operation, repetitions) * 1e9 / repetitions);
}

// Prints samples of an operation of all; rank 0 says how many there are.
static void together(const char *name, void (*operation)(void), double batch_s) {
  int repetitions = 1;
  for (int batch = -4; batch < BATCHES; batch++) {
    MPI_Bcast(&repetitions, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double elapsed = seconds_of(operation, repetitions);
    if (rank == 0 && batch >= 0) sample(name, ranks, elapsed * 1e9 / repetitions);
    int wanted = (int)(repetitions * batch_s / (elapsed + 1e-9)) + 1;
    if (batch < 0) repetitions = wanted > 20 * repetitions ? 20 * repetitions : wanted;
  }
}

static void busy(double seconds) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  if (rank == target) {
    volatile long work = 0;
    while (MPI_Wtime() - start < seconds) work = work + 1;
  }
  if (rank == 0) {
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < FETCHES; i++) fetch_and_op();
    sample("busy-target", ranks, (MPI_Wtime() - start) * 1e9 / FETCHES);
    MPI_Win_unlock_all(win);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double batch_s = (argc > 1 ? atof(argv[1]) : 10) / 1000;
  const char *mode = argc > 2 ? argv[2] : "";
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  target = ranks - 1;
  MPI_Win_allocate(LARGEST, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  buffer = aligned_alloc(4096, LARGEST), other = aligned_alloc(4096, LARGEST);
  if (!buffer || !other) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(mine, 0, LARGEST), memset(buffer, 1, LARGEST), memset(other, 2, LARGEST);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!strcmp(mode, "busy")) {
    busy(argc > 3 ? atof(argv[3]) : 5);
  } else if (rank == 0) {
    MPI_Win_lock_all(0, win);
    if (!strcmp(mode, "puts")) {
      for (bytes = 8; bytes <= LARGEST; bytes *= 4) {
        alone("put", bytes, put_bytes, batch_s);
        alone("floor-put", bytes, copy_bytes, batch_s);
      }
      // The largest is no power of four.
      bytes = LARGEST;
      alone("put", bytes, put_bytes, batch_s);
      alone("floor-put", bytes, copy_bytes, batch_s);
    } else {
      alone("put-flush", ranks, put, batch_s);
      alone("get-flush", ranks, get, batch_s);
      alone("accumulate-flush", ranks, accumulate, batch_s);
      alone("fetch-and-op", ranks, fetch_and_op, batch_s);
      alone("compare-and-swap", ranks, compare_and_swap, batch_s);
      alone("floor-atomic", ranks, atomic, batch_s);
    }
    MPI_Win_unlock_all(win);
    if (!*mode) alone("lock-unlock", ranks, lock_unlock, batch_s);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!*mode) together("fence", fence, batch_s);
  MPI_Win_free(&win);
  free(buffer), free(other);
  MPI_Finalize();
  return 0;
}
