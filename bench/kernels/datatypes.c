// Two ranks: messages of derived datatypes beside the copy loops a user would write instead.
//
// Every layout is moved in three ways: to the same layout (`same`), to contiguous memory (`gather`) and from contiguous
// memory (`scatter`). Before each move the sender writes its data anew. `LAYOUT-MODE` is the time of a message: from the
// receiver's go-ahead to the end of its receive. `loop-LAYOUT-MODE` is the time of the same round with an empty message,
// after which the receiver runs a loop over the layout that reads the sender's buffer in place. Where the ranks do not
// share memory the loop reads a copy of its own.
//
// Then types that are contiguous memory by another name: `typed-NAME` beside `typed-bytes`, half of a round trip.
#include "loops.h"
#include "sample.h"
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 8 << 10, LARGE = 4 << 20, LARGEST_EXTENT = 80 << 20 };

struct layout {
  const char *name;
  MPI_Datatype type;
  int count;     // of the type
  long extent;   // bytes from the first to behind the last
  void (*loops[3])(char *restrict, const char *restrict, const struct shape *);
  struct shape shape;
};

static int rank, same_process;
static char *out, *in;
static char **peer_out;  // where the loop reads

static void wait_for(int from) {
  MPI_Recv(NULL, 0, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void tell(int to) { MPI_Send(NULL, 0, MPI_BYTE, to, 1, MPI_COMM_WORLD); }

static void measure(const struct layout *l, long bytes, int mode) {
  static const char *modes[] = {"same", "gather", "scatter"};
  int batch = bytes == SMALL ? 100 : 1, batches = bytes == SMALL ? 12 : 10;
  MPI_Datatype send = mode == 2 ? MPI_BYTE : l->type, receive = mode == 1 ? MPI_BYTE : l->type;
  int sends = mode == 2 ? (int)bytes : l->count, receives = mode == 1 ? (int)bytes : l->count;
  size_t span = mode == 2 ? (size_t)bytes : (size_t)l->extent;
  char name[64];
  // Message and loop alternate, so that both see the same machine.
  for (int b = 0; b < batches; b++) {
    for (int by_loop = 0; by_loop < 2; by_loop++) {
      double total = 0;
      for (int i = 0; i < batch; i++) {
        if (rank == 0) {
          memset(out, b + i, span);
          tell(1);
          wait_for(1);
          if (by_loop) tell(1);
          else MPI_Send(out, sends, send, 1, 2, MPI_COMM_WORLD);
        } else {
          wait_for(0);
          double start = MPI_Wtime();
          tell(0);
          if (by_loop) {
            wait_for(0);
            l->loops[mode](in, *peer_out, &l->shape);
          } else {
            MPI_Recv(in, receives, receive, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          }
          total += MPI_Wtime() - start;
        }
      }
      if (rank == 1 && b > 1) {
        snprintf(name, sizeof name, "%s%s-%s", by_loop ? "loop-" : "", l->name, modes[mode]);
        sample(name, bytes, total * 1e9 / batch);
      }
    }
  }
  // Both ways move the same bytes to the same places.
  if (rank == 1) {
    size_t length = mode == 1 ? (size_t)bytes : (size_t)l->extent;
    char *by_message = malloc(length);
    for (int by_loop = 0; by_loop < 2; by_loop++) {
      memset(in, 0xee, length);
      tell(0);
      if (by_loop) wait_for(0), l->loops[mode](in, *peer_out, &l->shape);
      else MPI_Recv(in, receives, receive, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), memcpy(by_message, in, length);
    }
    if (same_process && memcmp(in, by_message, length)) {
      printf("message and loop differ: %s, mode %d, %ld bytes\n", l->name, mode, bytes);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(by_message);
  } else {
    for (size_t i = 0; i < span; i++) out[i] = (char)(i * 131 >> 3);
    wait_for(1);
    MPI_Send(out, sends, send, 1, 2, MPI_COMM_WORLD);
    wait_for(1);
    tell(1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void layouts(long bytes) {
  struct layout l;
#define RUN(n, t, c, e)                                                                                  \
  do {                                                                                                   \
    l.name = #n, l.type = t, l.count = c, l.extent = e;                                                  \
    l.loops[0] = n##_same, l.loops[1] = n##_gather, l.loops[2] = n##_scatter;                            \
    MPI_Type_commit(&l.type);                                                                            \
    for (int mode = 0; mode < 3; mode++) measure(&l, bytes, mode);                                       \
    MPI_Type_free(&l.type);                                                                              \
  } while (0)
  MPI_Datatype type;
#define VECTOR(size, element, base)                                                                      \
  l.shape = (struct shape){.count = bytes / size, .stride = 2};                                          \
  MPI_Type_vector((int)(bytes / size), size / (int)sizeof(element), 2 * size / (int)sizeof(element), base, &type); \
  RUN(vector##size, type, 1, 2 * bytes - size)
  VECTOR(4, int, MPI_INT);
  VECTOR(8, double, MPI_DOUBLE);
  VECTOR(16, double, MPI_DOUBLE);
  VECTOR(64, double, MPI_DOUBLE);
  VECTOR(1024, double, MPI_DOUBLE);

  // Faces of a box of doubles, the last dimension fastest: planes of `edge` by `edge`, the third dimension 8 thick.
  int edge = bytes == SMALL ? 32 : 724, thick = 8;
#define FACE(n, a, b, c, x, y, z, shape_)                                                                \
  l.shape = (struct shape)shape_;                                                                        \
  MPI_Type_create_subarray(3, (int[]){a, b, c}, (int[]){x, y, z}, (int[]){0, 0, 0}, MPI_ORDER_C, MPI_DOUBLE, &type); \
  face_bytes = (long)(x) * (y) * (z) * 8;                                                                \
  l.name = #n, l.type = type, l.count = 1, l.extent = (long)(a) * (b) * (c) * 8;                         \
  l.loops[0] = n##_same, l.loops[1] = n##_gather, l.loops[2] = n##_scatter;                              \
  MPI_Type_commit(&l.type);                                                                              \
  for (int mode = 0; mode < 3; mode++) measure(&l, face_bytes, mode);                                    \
  MPI_Type_free(&l.type)
#define SHAPE(...) {__VA_ARGS__}
  long face_bytes;
  FACE(face_x, thick, edge, edge, 1, edge, edge,
       SHAPE(.rows = edge, .row_stride = edge, .count = edge, .stride = 1));
  FACE(face_y, edge, thick, edge, edge, 1, edge,
       SHAPE(.rows = edge, .row_stride = (long)thick * edge, .count = edge, .stride = 1));
  FACE(face_z, edge, edge, thick, edge, edge, 1,
       SHAPE(.rows = edge, .row_stride = (long)edge * thick, .count = edge, .stride = thick));

  // Irregular: every element or block some way behind the one before.
  int n = (int)(bytes / 8), *places = malloc(sizeof(int) * n), *lengths = malloc(sizeof(int) * n);
  int at = 0;
  for (int i = 0; i < n; i++) places[i] = at, at += 1 + (i * 7 + (i >> 3)) % 4;
  l.shape = (struct shape){.count = n, .places = places};
  MPI_Type_create_indexed_block(n, 1, places, MPI_DOUBLE, &type);
  RUN(indexed_block, type, 1, (long)at * 8);
  int blocks = 0, left = n;
  at = 0;
  while (left > 0) {
    int length = 1 + (blocks * 5 + (blocks >> 2)) % 9;
    length = length < left ? length : left;
    places[blocks] = at, lengths[blocks] = length;
    at += length + 1 + blocks % 3, left -= length, blocks++;
  }
  l.shape = (struct shape){.count = blocks, .places = places, .lengths = lengths};
  MPI_Type_indexed(blocks, lengths, places, MPI_DOUBLE, &type);
  RUN(indexed, type, 1, (long)at * 8);
  free(places), free(lengths);

  int particles = (int)(bytes / 32);
  l.shape = (struct shape){.count = particles};
  MPI_Type_create_struct(3, (int[]){1, 3, 1}, (MPI_Aint[]){0, offsetof(particle, place), offsetof(particle, weight)},
                         (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_FLOAT}, &type);
  RUN(struct, type, particles, (long)sizeof(particle) * particles);
}

static void pingpong(const char *name, MPI_Datatype type, int count, long bytes) {
  int batch = bytes < 4096 ? 400 : bytes < 100000 ? 60 : 4;
  for (int b = 0; b < 2; b++) {
    double start = MPI_Wtime();
    for (int i = 0; i < batch; i++) {
      if (rank == 0) {
        MPI_Send(out, count, type, 1, 3, MPI_COMM_WORLD);
        MPI_Recv(in, count, type, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(in, count, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, count, type, 0, 3, MPI_COMM_WORLD);
      }
    }
    if (rank == 0 && b > 0) sample(name, bytes, (MPI_Wtime() - start) * 1e9 / batch / 2);
  }
}

static void contiguous(void) {
  MPI_Datatype types[5], plain;
  const char *names[] = {"typed-contiguous", "typed-vector", "typed-struct", "typed-dup", "typed-resized"};
  for (long bytes = 8; bytes <= 1 << 20; bytes *= bytes == 8 ? 128 : 32) {
    int n = (int)(bytes / 8);
    MPI_Type_contiguous(n, MPI_DOUBLE, &types[0]);
    MPI_Type_vector(n, 1, 1, MPI_DOUBLE, &types[1]);
    MPI_Type_create_struct(2, (int[]){n / 2, n - n / 2}, (MPI_Aint[]){0, (MPI_Aint)(n / 2) * 8},
                           (MPI_Datatype[]){MPI_DOUBLE, MPI_INT64_T}, &types[2]);
    MPI_Type_contiguous(n, MPI_DOUBLE, &plain);
    MPI_Type_dup(plain, &types[3]);
    MPI_Type_create_resized(plain, 0, bytes, &types[4]);
    for (int i = 0; i < 5; i++) MPI_Type_commit(&types[i]);
    for (int repeat = 0; repeat < 12; repeat++) {
      pingpong("typed-bytes", MPI_BYTE, (int)bytes, bytes);
      for (int i = 0; i < 5; i++) pingpong(names[i], types[i], 1, bytes);
    }
    for (int i = 0; i < 5; i++) MPI_Type_free(&types[i]);
    MPI_Type_free(&plain);
  }
}

static char *pages(size_t bytes) {
  char *p = aligned_alloc(2 << 20, bytes);
  if (!p) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(p, 1, bytes);
  return p;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = pages(LARGEST_EXTENT), in = pages(LARGEST_EXTENT);
  struct { long process; char *out; } mine = {getpid(), out}, theirs[2];
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, theirs, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  same_process = theirs[0].process == theirs[1].process;
  char *source = same_process ? theirs[0].out : out;
  peer_out = &source;
  contiguous();
  layouts(SMALL);
  layouts(LARGE);
  free(out), free(in);
  MPI_Finalize();
  return 0;
}
