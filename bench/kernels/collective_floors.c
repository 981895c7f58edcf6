// What the copies and additions of large collectives cost alone: two threads on two cores, the same number of buffers of
// the same sizes as collective_sizes.c has, and no MPI. Each thread stands for half of the ranks.
//
// broadcast: every rank's buffer but the root's is copied from the root's, by the rank's thread; the root goes round.
// allreduce: each thread adds up half of all input buffers, block by block, and copies each block to all output buffers.
//
// usage: collective_floors CORE CORE
#define _GNU_SOURCE
#include "sample.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2, BATCHES = 5, MOST = 32, BLOCK = 16384 / sizeof(float) };
static const int RANKS[] = {2, 8, 32};
static const size_t SIZES[] = {65536, 1048576};

static int cores[THREADS], ranks, repetitions;
static size_t count;
static float *inputs[MOST], *outputs[MOST];
static int is_allreduce;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Waits for the other thread.
static void meet(void) {
  static _Alignas(128) atomic_long arrived;
  long target = (atomic_fetch_add(&arrived, 1) / THREADS + 1) * THREADS;
  while (atomic_load_explicit(&arrived, memory_order_acquire) < target);
}

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void add(const float *restrict from, float *restrict to, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] += from[i];
}

static void broadcast(int thread, int root) {
  for (int rank = thread * ranks / THREADS; rank < (thread + 1) * ranks / THREADS; rank++)
    if (rank != root) memcpy(inputs[rank], inputs[root], count * sizeof(float));
}

static void allreduce(int thread) {
  float block[BLOCK];
  for (size_t at = thread * count / THREADS; at < (thread + 1) * count / THREADS; at += BLOCK) {
    size_t end = (thread + 1) * count / THREADS, n = end - at < BLOCK ? end - at : BLOCK;
    memcpy(block, inputs[ranks - 1] + at, n * sizeof(float));
    for (int rank = ranks - 1; rank-- > 0;) add(inputs[rank] + at, block, n);
    for (int rank = 0; rank < ranks; rank++) memcpy(outputs[rank] + at, block, n * sizeof(float));
  }
}

static void *run(void *argument) {
  int thread = (int)(long)argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[thread], &set);
  sched_setaffinity(0, sizeof set, &set);
  for (int batch = 0; batch <= BATCHES; batch++) {
    meet();
    double start = now();
    for (int i = 0; i < repetitions; i++) {
      if (is_allreduce) allreduce(thread);
      else broadcast(thread, i % ranks);
      meet();
    }
    char name[64];
    snprintf(name, sizeof name, "floor-%s-%zu", is_allreduce ? "allreduce" : "bcast", count * sizeof(float));
    if (batch && !thread) sample(name, ranks, (now() - start) / repetitions);
  }
  return NULL;
}

int main(int argc, char **argv) {
  for (int i = 0; i < THREADS; i++) cores[i] = argc > i + 1 ? atoi(argv[i + 1]) : i;
  for (size_t r = 0; r < sizeof RANKS / sizeof *RANKS; r++) {
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
      ranks = RANKS[r], count = SIZES[s] / sizeof(float);
      repetitions = (int)(100000000 / (SIZES[s] * (size_t)ranks)) + 1;
      if (repetitions > 300) repetitions = 300;
      for (int i = 0; i < ranks; i++) {
        inputs[i] = malloc(SIZES[s]), outputs[i] = malloc(SIZES[s]);
        memset(inputs[i], 0, SIZES[s]), memset(outputs[i], 0, SIZES[s]);
      }
      for (is_allreduce = 0; is_allreduce < 2; is_allreduce++) {
        pthread_t other;
        pthread_create(&other, NULL, run, (void *)1);
        run((void *)0);
        pthread_join(other, NULL);
      }
      for (int i = 0; i < ranks; i++) free(inputs[i]), free(outputs[i]);
    }
  }
  return 0;
}
