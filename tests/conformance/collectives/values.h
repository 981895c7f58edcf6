// Values and counts that the collective tests share: what rank r contributes as element i of turn t, and a serial model
// of a non-commutative operation.
#ifndef WEFT_VALUES_H
#define WEFT_VALUES_H
#include "check.h"

// Around the limits between small and large data.
static const int value_counts[] = {0, 1, 2, 7, 64, 300, 1500, 9000};
enum { VALUE_COUNTS = sizeof value_counts / sizeof value_counts[0] };

static inline int value(int rank, int index, int turn) {
  return (rank * 7919 + index * 31 + turn * 104729) % 65521;
}

static inline int *value_fill(int *buffer, int rank, int count, int turn) {
  for (int i = 0; i < count; i++) buffer[i] = value(rank, i, turn);
  return buffer;
}

static inline int *value_new(int count) {
  int *buffer = malloc((count + 1) * sizeof *buffer);
  for (int i = 0; i <= count; i++) buffer[i] = -1;
  return buffer;
}

// Counts elements that are not rank's values.
static inline int value_wrong(const int *buffer, int rank, int count, int turn) {
  int wrong = 0;
  for (int i = 0; i < count; i++) wrong += buffer[i] != value(rank, i, turn);
  return wrong;
}

// Composition of x -> a x + b modulo 65521: associative, not commutative.
typedef struct {
  unsigned a, b;
} Affine;

static inline Affine affine_value(int rank, int index, int turn) {
  return (Affine){1 + value(rank, index, turn), value(index, rank, turn)};
}

static inline Affine affine_compose(Affine x, Affine y) {
  return (Affine){(unsigned long)x.a * y.a % 65521, ((unsigned long)x.a * y.b + x.b) % 65521};
}

// What ranks first..last-1 give together.
static inline Affine affine_model(int first, int last, int index, int turn) {
  Affine all = affine_value(first, index, turn);
  for (int r = first + 1; r < last; r++) all = affine_compose(all, affine_value(r, index, turn));
  return all;
}
#endif
