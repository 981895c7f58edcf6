// Measures the algorithms of one collective for `weft tune`: tune COLLECTIVE ROUNDS MICROSECONDS BYTES,BYTES,… VALUE VALUE …
//
// Each VALUE is the value of the info key weft_COLLECTIVE_algorithm of a communicator, or `-` for none. For each size and round every
// value is measured once, in an order that rotates, so that what disturbs the machine disturbs all alike. Rank 0 prints
// `BYTES VALUE'S_INDEX NANOSECONDS` per sample: the time of one operation, that of the slowest rank.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 32 };

static int rank, size;
static MPI_Comm comms[VALUES];
static char *sendbuf, *recvbuf;
static int *counts, *displs, *places;
static MPI_Datatype *types;

typedef void operation(MPI_Comm comm, int bytes);

static void barrier(MPI_Comm comm, int bytes) { (void)bytes, MPI_Barrier(comm); }
static void bcast(MPI_Comm comm, int bytes) { MPI_Bcast(sendbuf, bytes, MPI_BYTE, 0, comm); }
static void gather(MPI_Comm comm, int bytes) {
  MPI_Gather(sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE, 0, comm);
}
static void gatherv(MPI_Comm comm, int bytes) {
  MPI_Gatherv(sendbuf, bytes, MPI_BYTE, recvbuf, counts, displs, MPI_BYTE, 0, comm);
}
static void scatter(MPI_Comm comm, int bytes) {
  MPI_Scatter(sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE, 0, comm);
}
static void scatterv(MPI_Comm comm, int bytes) {
  MPI_Scatterv(sendbuf, counts, displs, MPI_BYTE, recvbuf, bytes, MPI_BYTE, 0, comm);
}
static void allgather(MPI_Comm comm, int bytes) {
  MPI_Allgather(sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE, comm);
}
static void allgatherv(MPI_Comm comm, int bytes) {
  MPI_Allgatherv(sendbuf, bytes, MPI_BYTE, recvbuf, counts, displs, MPI_BYTE, comm);
}
static void alltoall(MPI_Comm comm, int bytes) {
  MPI_Alltoall(sendbuf, bytes / size, MPI_BYTE, recvbuf, bytes / size, MPI_BYTE, comm);
}
static void alltoallv(MPI_Comm comm, int bytes) {
  (void)bytes;
  MPI_Alltoallv(sendbuf, counts, displs, MPI_BYTE, recvbuf, counts, displs, MPI_BYTE, comm);
}
static void alltoallw(MPI_Comm comm, int bytes) {
  (void)bytes;
  MPI_Alltoallw(sendbuf, counts, displs, types, recvbuf, counts, displs, types, comm);
}
static void reduce(MPI_Comm comm, int bytes) {
  MPI_Reduce(sendbuf, recvbuf, bytes / 4, MPI_INT, MPI_SUM, 0, comm);
}
static void allreduce(MPI_Comm comm, int bytes) {
  MPI_Allreduce(sendbuf, recvbuf, bytes / 4, MPI_INT, MPI_SUM, comm);
}
static void reduce_scatter(MPI_Comm comm, int bytes) {
  (void)bytes;
  MPI_Reduce_scatter(sendbuf, recvbuf, places, MPI_INT, MPI_SUM, comm);
}
static void reduce_scatter_block(MPI_Comm comm, int bytes) {
  MPI_Reduce_scatter_block(sendbuf, recvbuf, bytes / 4 / size, MPI_INT, MPI_SUM, comm);
}
static void scan(MPI_Comm comm, int bytes) { MPI_Scan(sendbuf, recvbuf, bytes / 4, MPI_INT, MPI_SUM, comm); }
static void exscan(MPI_Comm comm, int bytes) { MPI_Exscan(sendbuf, recvbuf, bytes / 4, MPI_INT, MPI_SUM, comm); }

// How large the buffers are: as large as what counts as the size, or that for each rank; and the smallest sizes.
enum { ONE = 0, EACH_SENT = 1, EACH_RECEIVED = 2, DIVIDED = 4 };

static const struct {
  const char *name;
  operation *run;
  int shape;
} operations[] = {
    {"barrier", barrier, ONE},
    {"bcast", bcast, ONE},
    {"gather", gather, EACH_RECEIVED},
    {"gatherv", gatherv, EACH_RECEIVED},
    {"scatter", scatter, EACH_SENT},
    {"scatterv", scatterv, EACH_SENT},
    {"allgather", allgather, EACH_RECEIVED},
    {"allgatherv", allgatherv, EACH_RECEIVED},
    {"alltoall", alltoall, DIVIDED},
    {"alltoallv", alltoallv, DIVIDED},
    {"alltoallw", alltoallw, DIVIDED},
    {"reduce", reduce, ONE},
    {"allreduce", allreduce, ONE},
    {"reduce_scatter", reduce_scatter, DIVIDED},
    {"reduce_scatter_block", reduce_scatter_block, DIVIDED},
    {"scan", scan, ONE},
    {"exscan", exscan, ONE},
};

// Returns the time of one of `repeats` operations in seconds, that of the slowest rank, at rank 0.
static double sample(operation *run, MPI_Comm comm, int bytes, int repeats) {
  MPI_Barrier(MPI_COMM_WORLD);
  double start = MPI_Wtime();
  for (int i = 0; i < repeats; i++) run(comm, bytes);
  double mine = (MPI_Wtime() - start) / repeats, slowest = 0;
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

static void measure(int which, int bytes, int rounds, double seconds, int values) {
  int shape = operations[which].shape;
  operation *run = operations[which].run;
  size_t sent = (size_t)bytes * (shape & EACH_SENT ? size : 1) + 64;
  size_t received = (size_t)bytes * (shape & EACH_RECEIVED ? size : 1) + 64;
  // What does not fit, or leaves ranks without data, is not measured.
  if ((sent + received) * size > (size_t)1 << 30 || (shape & DIVIDED && bytes < 4 * size)) return;
  sendbuf = calloc(sent, 1), recvbuf = calloc(received, 1);
  for (int i = 0; i < size; i++) {
    counts[i] = shape & DIVIDED ? bytes / size : bytes;
    displs[i] = i * counts[i];
    places[i] = bytes / 4 / size;
    types[i] = MPI_BYTE;
  }
  int repeats = 1;
  double once = sample(run, comms[0], bytes, 2);
  for (int value = 0; value < values; value++) once += sample(run, comms[value], bytes, 2);
  if (rank == 0) {
    double wanted = seconds / (once / (values + 1) + 1e-9);
    repeats = wanted < 2 ? 2 : wanted > 10000 ? 10000 : (int)wanted;
  }
  MPI_Bcast(&repeats, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int round = 0; round < rounds; round++)
    for (int i = 0; i < values; i++) {
      int value = (i + round) % values;
      double time = sample(run, comms[value], bytes, repeats);
      if (rank == 0) printf("%d %d %.1f\n", bytes, value, time * 1e9);
    }
  free(sendbuf), free(recvbuf);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int values = argc - 5, which = 0, known = sizeof operations / sizeof operations[0];
  while (argc > 5 && which < known && strcmp(operations[which].name, argv[1])) which++;
  if (values < 1 || values > VALUES || which == known) {
    if (rank == 0) fprintf(stderr, "usage: tune COLLECTIVE ROUNDS MICROSECONDS BYTES,BYTES,... VALUE...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  counts = malloc(size * sizeof(int)), displs = malloc(size * sizeof(int)), places = malloc(size * sizeof(int));
  types = malloc(size * sizeof(MPI_Datatype));
  char key[64];
  snprintf(key, sizeof key, "weft_%s_algorithm", argv[1]);
  for (int value = 0; value < values; value++) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (strcmp(argv[5 + value], "-") != 0) MPI_Info_set(info, key, argv[5 + value]);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[value]);
    MPI_Info_free(&info);
  }
  for (char *at = argv[4]; *at;) {
    measure(which, (int)strtol(at, &at, 10), atoi(argv[2]), atof(argv[3]) * 1e-6, values);
    at += *at == ',';
  }
  MPI_Finalize();
  return 0;
}
