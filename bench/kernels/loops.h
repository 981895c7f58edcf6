// The loops a user would write for the layouts of datatypes.c, as plain as they come: each moves its data to the same
// layout, to contiguous memory, or from contiguous memory.
#ifndef WEFT_BENCH_LOOPS_H
#define WEFT_BENCH_LOOPS_H

// What a loop needs to know.
struct shape {
  long count, stride;     // blocks and their distance, in elements of the loop's block
  long rows, row_stride;  // outer dimension
  int *places, *lengths;  // of irregular layouts
};

// Loops over one layout: to the same layout, to contiguous memory, from contiguous memory.
#define LOOPS(name, element, header, target, source, packed)                                             \
  static void name##_same(char *restrict t, const char *restrict f, const struct shape *s) {             \
    element *to = (element *)t;                                                                          \
    const element *from = (const element *)f;                                                            \
    header to[target] = from[source];                                                                    \
  }                                                                                                      \
  static void name##_gather(char *restrict t, const char *restrict f, const struct shape *s) {           \
    element *to = (element *)t;                                                                          \
    const element *from = (const element *)f;                                                            \
    header to[packed] = from[source];                                                                    \
  }                                                                                                      \
  static void name##_scatter(char *restrict t, const char *restrict f, const struct shape *s) {          \
    element *to = (element *)t;                                                                          \
    const element *from = (const element *)f;                                                            \
    header to[target] = from[packed];                                                                    \
  }

#define STRIDED(name, element)                                                                           \
  LOOPS(name, element, for (long i = 0; i < s->count; i++), i * s->stride, i * s->stride, i)

typedef struct { char bytes[16]; } block16;
typedef struct { char bytes[64]; } block64;
typedef struct { char bytes[1024]; } block1024;
STRIDED(vector4, int)
STRIDED(vector8, double)
STRIDED(vector16, block16)
STRIDED(vector64, block64)
STRIDED(vector1024, block1024)

#define ROWS(name)                                                                                       \
  LOOPS(name, double,                                                                                    \
        for (long r = 0; r < s->rows; r++) for (long i = 0; i < s->count; i++),                          \
        r * s->row_stride + i * s->stride, r * s->row_stride + i * s->stride, r * s->count + i)
ROWS(face_x)
ROWS(face_y)
ROWS(face_z)

LOOPS(indexed_block, double, for (long i = 0; i < s->count; i++), s->places[i], s->places[i], i)
// Blocks of different lengths; `cursor` runs over the contiguous side.
#define INDEXED(name, target, source)                                                                    \
  static void indexed_##name(char *restrict t, const char *restrict f, const struct shape *s) {          \
    double *to = (double *)t;                                                                            \
    const double *from = (const double *)f;                                                              \
    long cursor = 0;                                                                                     \
    for (long b = 0; b < s->count; b++) {                                                                \
      for (long i = 0; i < s->lengths[b]; i++, cursor++) to[target] = from[source];                      \
    }                                                                                                    \
    (void)cursor;                                                                                        \
  }
INDEXED(same, s->places[b] + i, s->places[b] + i)
INDEXED(gather, cursor, s->places[b] + i)
INDEXED(scatter, s->places[b] + i, cursor)

typedef struct {
  int kind;
  double place[3];
  float weight;
} particle;

typedef struct __attribute__((packed)) {
  int kind;
  double place[3];
  float weight;
} packed_particle;

#define MEMBERS(to, from)                                                                                \
  for (long i = 0; i < s->count; i++) {                                                                  \
    (to)[i].kind = (from)[i].kind;                                                                       \
    (to)[i].place[0] = (from)[i].place[0];                                                               \
    (to)[i].place[1] = (from)[i].place[1];                                                               \
    (to)[i].place[2] = (from)[i].place[2];                                                               \
    (to)[i].weight = (from)[i].weight;                                                                   \
  }
static void struct_same(char *restrict t, const char *restrict f, const struct shape *s) {
  MEMBERS((particle *)t, (const particle *)f)
}
static void struct_gather(char *restrict t, const char *restrict f, const struct shape *s) {
  MEMBERS((packed_particle *)t, (const particle *)f)
}
static void struct_scatter(char *restrict t, const char *restrict f, const struct shape *s) {
  MEMBERS((particle *)t, (const packed_particle *)f)
}
#endif
