// All ranks: barrier, broadcast, reduce, allreduce, allgather and alltoall of several sizes, blocking, one after another.
//
// A size is that of the data of one rank, in allgather and alltoall of what goes from one rank to one other. What does
// not fit MEMORY in all ranks together is left out. Buffers are touched before; every operation uses the same ones. The
// root of broadcast and reduce goes round, so that nobody runs ahead of the others for long.
//
// usage: collective_sizes [MILLISECONDS-PER-BATCH [OPERATIONS [BYTES...]]], with operations and `-` in between: bcast-reduce
#include "repeat.h"
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 3 };
static const size_t MEMORY = (size_t)2 << 30;
static const char *const SIZES[] = {"8", "1024", "65536", "1048576"};

static int size, count, root;
static const char *wanted;
static float *input, *output;

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static int next_root(void) { return root = root + 1 < size ? root + 1 : 0; }
static void broadcast(void) { MPI_Bcast(input, count, MPI_FLOAT, next_root(), MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(input, output, count, MPI_FLOAT, MPI_SUM, next_root(), MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(input, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(void) { MPI_Allgather(input, count, MPI_FLOAT, output, count, MPI_FLOAT, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(input, count, MPI_FLOAT, output, count, MPI_FLOAT, MPI_COMM_WORLD); }

// Tells whether a name is in the list of operations.
static int is_wanted(const char *name) {
  size_t length = strlen(name);
  for (const char *at = wanted; (at = strstr(at, name)); at += length)
    if ((at == wanted || at[-1] == '-') && (!at[length] || at[length] == '-')) return 1;
  return 0;
}

static void measure_size(const char *name, size_t bytes, void (*operation)(void), double target) {
  char text[64];
  if (wanted && !is_wanted(name)) return;
  snprintf(text, sizeof text, "%s-%zu", name, bytes);
  measure(text, operation, target, BATCHES);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double target = (argc > 1 ? atof(argv[1]) : 5) / 1000;
  wanted = argc > 2 ? argv[2] : NULL;
  int sizes = argc > 3 ? argc - 3 : (int)(sizeof SIZES / sizeof *SIZES);
  measure_size("barrier", 0, barrier, target);
  for (int i = 0; i < sizes; i++) {
    size_t bytes = atol(argc > 3 ? argv[i + 3] : SIZES[i]), all = bytes * size;
    count = (int)(bytes / sizeof(float));
    int fits = all * size <= MEMORY / 2;
    input = malloc(fits ? all : bytes);
    output = malloc(fits ? all : bytes);
    // Not zero: a compiler makes that a calloc, whose pages are all the same until they are written.
    memset(input, 0x3f, fits ? all : bytes);
    memset(output, 0x3f, fits ? all : bytes);
    measure_size("bcast", bytes, broadcast, target);
    measure_size("reduce", bytes, reduce, target);
    measure_size("allreduce", bytes, allreduce, target);
    if (fits) {
      measure_size("allgather", bytes, allgather, target);
      measure_size("alltoall", bytes, alltoall, target);
    }
    free(input);
    free(output);
  }
  MPI_Finalize();
  return 0;
}
