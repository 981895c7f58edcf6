// Drives the aarch64 switch without the Rust around it: three pthreads give up their kernel threads, the main thread
// runs them in turn, and each checks that what is its own stays so.
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  uint64_t stack_pointer, thread_pointer;
  uint32_t control, unused;
  uint32_t on_core;
} context;

void weft_switch(context *from, context *to);
void weft_detach(context *from);
extern __thread void *weft_current __attribute__((tls_model("initial-exec")));

enum { THREADS = 3, ROUNDS = 1000 };
static context contexts[THREADS], worker;
static __thread int own;
static int ended, over[THREADS];

static void fail(const char *what, int me, int round) {
  printf("thread %d, round %d: %s\n", me, round, what);
  exit(1);
}

static void resume(context *from, context *to) {
  while (__atomic_load_n(&to->on_core, __ATOMIC_ACQUIRE)) {}
  to->on_core = 1;
  weft_switch(from, to);
}

// Values that the compiler keeps in callee-saved registers across the calls.
static void work(int me) {
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
  uint64_t a = me * 1000003u, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
  double x = me + 0.5, y = me + 0.25, z = me + 0.125, w = me + 0.0625;
  own = me;
  pthread_t self = pthread_self();
  fesetround(modes[me]);
  for (int round = 0; round < ROUNDS; round++) {
    errno = 100 * me + round % 50;
    // Sometimes straight to the next thread, sometimes by way of the worker.
    int next = (me + 1) % THREADS;
    if (round % 3 && !contexts[next].on_core && !over[next]) resume(&contexts[me], &contexts[next]);
    else resume(&contexts[me], &worker);
    if (errno != 100 * me + round % 50) fail("errno changed", me, round);
    if (own != me || weft_current != &contexts[me]) fail("thread-local storage changed", me, round);
    if (!pthread_equal(self, pthread_self())) fail("pthread_self changed", me, round);
    if (fegetround() != modes[me]) fail("rounding mode changed", me, round);
    a++, b++, c++, d++, e++, f++, x += 1, y += 1, z += 1, w += 1;
  }
  uint64_t base = me * 1000003u + ROUNDS;
  if (a != base || b != base + 1 || c != base + 2 || d != base + 3 || e != base + 4 || f != base + 5)
    fail("a register changed", me, ROUNDS);
  if (x != me + 0.5 + ROUNDS || y != me + 0.25 + ROUNDS || z != me + 0.125 + ROUNDS || w != me + 0.0625 + ROUNDS)
    fail("a floating-point register changed", me, ROUNDS);
}

static void *thread_main(void *argument) {
  int me = (int)(intptr_t)argument;
  weft_current = &contexts[me];
  weft_detach(&contexts[me]);
  work(me);
  ended++;
  over[me] = 1;
  resume(&contexts[me], &worker);
  abort();
}

int main(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    contexts[i].on_core = 1;
    if (pthread_create(&thread, NULL, thread_main, (void *)(intptr_t)i)) return 2;
  }
  __asm__("mrs %0, tpidr_el0" : "=r"(worker.thread_pointer));
  worker.on_core = 1;
  while (ended < THREADS)
    for (int i = 0; i < THREADS; i++)
      if (!over[i]) resume(&worker, &contexts[i]);
  printf("switched\n");
  fflush(stdout);
  _Exit(0);
}
