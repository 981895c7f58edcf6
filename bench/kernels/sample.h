// How kernels report: one line `sample NAME SIZE NANOSECONDS` per batch; the driver does the statistics.
#ifndef WEFT_BENCH_SAMPLE_H
#define WEFT_BENCH_SAMPLE_H
#include <stdio.h>

static inline void sample(const char *name, long size, double nanoseconds) {
  printf("sample %s %ld %.3f\n", name, size, nanoseconds);
  fflush(stdout);
}
#endif
