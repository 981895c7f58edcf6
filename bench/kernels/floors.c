// What the machine itself needs for the things a message is made of: handing a cache line to another core, switching
// between two user-level threads, waking a kernel thread, copying a buffer that another core wrote.
//
// usage: floors CORE CORE
#define _GNU_SOURCE
#include "sample.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 9, LINE = 128 };
static int cores[2];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}
static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
static void *pages(size_t bytes) {
  void *p = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20));
  if (!p) exit(2);
  memset(p, 1, bytes);
  return p;
}

// ---- a flag handed to and fro between two cores, in one line and with a line for each direction
typedef struct {
  _Alignas(LINE) _Atomic long one;
  _Alignas(LINE) _Atomic long other;
} lines;
static lines flags;
static int separate;
enum { HANDOFFS = 20000 };

static void *handoff_partner(void *unused) {
  (void)unused;
  pin(cores[1]);
  for (long i = 1; i <= (long)HANDOFFS * BATCHES; i++) {
    if (separate) {
      while (atomic_load_explicit(&flags.one, memory_order_acquire) != i) relax();
      atomic_store_explicit(&flags.other, i, memory_order_release);
    } else {
      while (atomic_load_explicit(&flags.one, memory_order_acquire) != 2 * i - 1) relax();
      atomic_store_explicit(&flags.one, 2 * i, memory_order_release);
    }
  }
  return NULL;
}
static void handoff(const char *name) {
  pthread_t partner;
  atomic_store(&flags.one, 0), atomic_store(&flags.other, 0);
  pthread_create(&partner, NULL, handoff_partner, NULL);
  long i = 1;
  for (int batch = 0; batch < BATCHES; batch++) {
    double start = now();
    for (int n = 0; n < HANDOFFS; n++, i++) {
      if (separate) {
        atomic_store_explicit(&flags.one, i, memory_order_release);
        while (atomic_load_explicit(&flags.other, memory_order_acquire) != i) relax();
      } else {
        atomic_store_explicit(&flags.one, 2 * i - 1, memory_order_release);
        while (atomic_load_explicit(&flags.one, memory_order_acquire) != 2 * i) relax();
      }
    }
    if (batch) sample(name, 0, (now() - start) / (2.0 * HANDOFFS));
  }
  pthread_join(partner, NULL);
}

// ---- a futex handed to and fro
static _Atomic uint32_t word;
static int partner_core;
enum { WAKES = 300 };
static void wait_for(uint32_t value) {
  uint32_t seen;
  while ((seen = atomic_load(&word)) != value) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}
static void set(uint32_t value) {
  atomic_store(&word, value);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void *futex_partner(void *unused) {
  (void)unused;
  pin(partner_core);
  for (uint32_t i = 1; i <= WAKES * BATCHES; i++) {
    wait_for(2 * i - 1);
    set(2 * i);
  }
  return NULL;
}
static void futex(const char *name, int core) {
  pthread_t partner;
  partner_core = core;
  atomic_store(&word, 0);
  pthread_create(&partner, NULL, futex_partner, NULL);
  uint32_t i = 1;
  for (int batch = 0; batch < BATCHES; batch++) {
    double start = now();
    for (int n = 0; n < WAKES; n++, i++) {
      set(2 * i - 1);
      wait_for(2 * i);
    }
    if (batch) sample(name, 0, (now() - start) / (2.0 * WAKES));
  }
  pthread_join(partner, NULL);
}

// ---- the smallest switch that keeps a thread's identity: callee-saved registers, stack and thread pointer
#if defined(__x86_64__)
typedef struct {
  void *stack, *thread_pointer;
} context;
static context contexts[2];
enum { SWITCHES = 200000 };

// Saves the caller in its first argument and resumes the second.
__attribute__((naked, noinline)) static void swap(context *from, context *to) {
  (void)from, (void)to;
  __asm__("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
          "mov %rsp, (%rdi)\n mov (%rsi), %rsp\n mov 8(%rsi), %rax\n wrfsbase %rax\n"
          "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n");
}
static void other_side(void) {
  for (;;) swap(&contexts[1], &contexts[0]);
}
static void user_switch(void) {
  if (!(getauxval(AT_HWCAP2) & 2)) return;
  void *thread_pointer;
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
  contexts[0].thread_pointer = contexts[1].thread_pointer = thread_pointer;
  // The stack the first switch pops: six registers, then where to go, aligned as after a call.
  void **top = (void **)((char *)pages(1 << 16) + (1 << 16));
  *--top = NULL;
  *--top = (void *)other_side;
  top -= 6;
  contexts[1].stack = top;
  for (int batch = 0; batch < BATCHES; batch++) {
    double start = now();
    for (int i = 0; i < SWITCHES; i++) swap(&contexts[0], &contexts[1]);
    if (batch) sample("switch", 0, (now() - start) / (2.0 * SWITCHES));
  }
}
#else
static void user_switch(void) {}
#endif

// ---- one core copies what the other one wrote
enum { LARGEST = 8 << 20, COPIES = 24 };
static char *source;
static _Atomic long turn;
static long copy_size;
static int rewrite;

static void *copy_partner(void *unused) {
  (void)unused;
  pin(cores[1]);
  for (long i = 1; i <= COPIES; i++) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i - 1) relax();
    if (rewrite || i == 1) memset(source, (int)i, (size_t)copy_size);
    atomic_store_explicit(&turn, 2 * i, memory_order_release);
  }
  return NULL;
}
static void copies(const char *name) {
  source = pages(LARGEST);
  char *target = pages(LARGEST);
  for (copy_size = 32 << 10; copy_size <= LARGEST; copy_size *= 4) {
    pthread_t partner;
    atomic_store(&turn, 0);
    pthread_create(&partner, NULL, copy_partner, NULL);
    for (long i = 1; i <= COPIES; i++) {
      atomic_store_explicit(&turn, 2 * i - 1, memory_order_release);
      while (atomic_load_explicit(&turn, memory_order_acquire) != 2 * i) relax();
      double start = now();
      memcpy(target, source, (size_t)copy_size);
      __asm__ volatile("" : : "r"(target) : "memory");
      double elapsed = now() - start;
      if (i > 4) sample(name, copy_size, elapsed);
    }
    pthread_join(partner, NULL);
  }
  free(source), free(target);
}

int main(int argc, char **argv) {
  cores[0] = argc > 1 ? atoi(argv[1]) : 0;
  cores[1] = argc > 2 ? atoi(argv[2]) : 1;
  pin(cores[0]);
  separate = 0, handoff("handoff-one-line");
  separate = 1, handoff("handoff-two-lines");
  user_switch();
  futex("futex-same-core", cores[0]);
  futex("futex-across", cores[1]);
  rewrite = 1, copies("memcpy-fresh");
  rewrite = 0, copies("memcpy-unchanged");
  return 0;
}
