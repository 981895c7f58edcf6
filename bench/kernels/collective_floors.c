// What the copies and additions of large collectives cost alone: two threads on two cores, the same number of buffers of
// the same sizes as collective_sizes.c has, and no MPI. Each thread stands for half of the ranks.
//
// broadcast: every rank's buffer but the root's is copied from the root's, by the rank's thread; the root goes round.
// allreduce: each thread adds up half of all input buffers, block by block, and copies each block to all output buffers.
// allgather: every rank's input is copied to its place in every rank's output, by the receiver's thread.
// alltoall: a different part of every rank's input is copied to every rank's output, by the receiver's thread.
//
// Each batch is done with copies into the caches and with copies past them; the faster ones are the floor.
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
#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { THREADS = 2, BATCHES = 5, MOST = 32, BLOCK = 16384 / sizeof(float), LINE = 64 };
static const int RANKS[] = {2, 8, 32};
static const size_t SIZES[] = {65536, 1048576};

static int cores[THREADS], ranks, repetitions;
static size_t count;
static float *inputs[MOST], *outputs[MOST];
static int operation, is_streaming;

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

// Copies past the caches: lines of the target are written without being read.
static void stream(char *to, const char *from, size_t bytes) {
#ifdef __x86_64__
  size_t head = -(size_t)to % LINE < bytes ? -(size_t)to % LINE : bytes;
  memcpy(to, from, head);
  for (to += head, from += head, bytes -= head; bytes >= LINE; to += LINE, from += LINE, bytes -= LINE)
    for (int i = 0; i < LINE; i += 16)
      _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
  memcpy(to, from, bytes);
  _mm_sfence();
#else
  memcpy(to, from, bytes);
#endif
}

static void copy(float *to, const float *from, size_t n) {
  if (is_streaming) stream((char *)to, (const char *)from, n * sizeof(float));
  else memcpy(to, from, n * sizeof(float));
}

static int first(int thread) { return thread * ranks / THREADS; }

static void broadcast(int thread, int root) {
  for (int rank = first(thread); rank < first(thread + 1); rank++)
    if (rank != root) copy(inputs[rank], inputs[root], count);
}

static void allreduce(int thread, int root) {
  (void)root;
  float block[BLOCK];
  for (size_t at = thread * count / THREADS; at < (thread + 1) * count / THREADS; at += BLOCK) {
    size_t end = (thread + 1) * count / THREADS, n = end - at < BLOCK ? end - at : BLOCK;
    memcpy(block, inputs[ranks - 1] + at, n * sizeof(float));
    for (int rank = ranks - 1; rank-- > 0;) add(inputs[rank] + at, block, n);
    for (int rank = 0; rank < ranks; rank++) copy(outputs[rank] + at, block, n);
  }
}

static void exchange(int thread, int is_alltoall) {
  for (int rank = first(thread); rank < first(thread + 1); rank++)
    for (int i = 0; i < ranks; i++) {
      int from = (rank + i) % ranks;
      copy(outputs[rank] + from * count, inputs[from] + (is_alltoall ? rank * count : 0), count);
    }
}

static void allgather(int thread, int root) { (void)root, exchange(thread, 0); }
static void alltoall(int thread, int root) { (void)root, exchange(thread, 1); }

static const struct {
  const char *name;
  void (*run)(int thread, int root);
  int moves_all;  // as much from each rank to each
} OPERATIONS[] = {{"bcast", broadcast, 0}, {"allreduce", allreduce, 0}, {"allgather", allgather, 1}, {"alltoall", alltoall, 1}};

static void *run(void *argument) {
  int thread = (int)(long)argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[thread], &set);
  sched_setaffinity(0, sizeof set, &set);
  for (int batch = 0; batch <= BATCHES; batch++) {
    double best = 0;
    for (int streaming = 0; streaming < 2; streaming++) {
      meet();
      if (!thread) is_streaming = streaming;
      meet();
      double start = now();
      for (int i = 0; i < repetitions; i++) {
        OPERATIONS[operation].run(thread, i % ranks);
        meet();
      }
      double each = (now() - start) / repetitions;
      if (!streaming || each < best) best = each;
    }
    char name[64];
    snprintf(name, sizeof name, "floor-%s-%zu", OPERATIONS[operation].name, count * sizeof(float));
    if (batch && !thread) sample(name, ranks, best);
  }
  return NULL;
}

// Returns memory that has been written; with zeroes, a compiler would have the system give pages that are all the same.
static float *buffer(size_t bytes) {
  float *buffer = malloc(bytes);
  memset(buffer, 0x3f, bytes);
  return buffer;
}

int main(int argc, char **argv) {
  for (int i = 0; i < THREADS; i++) cores[i] = argc > i + 1 ? atoi(argv[i + 1]) : i;
  for (size_t r = 0; r < sizeof RANKS / sizeof *RANKS; r++) {
    for (size_t s = 0; s < sizeof SIZES / sizeof *SIZES; s++) {
      ranks = RANKS[r], count = SIZES[s] / sizeof(float);
      size_t all = SIZES[s] * (size_t)ranks;
      for (int i = 0; i < ranks; i++) inputs[i] = buffer(all), outputs[i] = buffer(all);
      for (operation = 0; operation < (int)(sizeof OPERATIONS / sizeof *OPERATIONS); operation++) {
        repetitions = (int)(100000000 / (OPERATIONS[operation].moves_all ? all * ranks : all)) + 1;
        if (repetitions > 300) repetitions = 300;
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
