// A correct program: messages of all sizes to and fro, collectives, objects made and freed. With an argument it is not.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, shared;

static void messages(int count) {
  int peer = rank ^ 1, *in = calloc(count, sizeof(int)), *out = calloc(count, sizeof(int));
  for (int i = 0; i < count; i++) out[i] = rank + i;
  for (int round = 0; round < 3 && peer < size; round++) {
    MPI_Request requests[2];
    if (rank < peer) {
      MPI_Send(out, count, MPI_INT, peer, 0, MPI_COMM_WORLD);
      MPI_Recv(in, count, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, count, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, count, MPI_INT, peer, 0, MPI_COMM_WORLD);
    }
    MPI_Irecv(in, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++)
      if (in[i] != peer + i) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  free(in), free(out);
}

static void collectives(int count) {
  int *mine = calloc(count, sizeof(int)), *sum = calloc(count, sizeof(int));
  int *all = calloc((size_t)count * size, sizeof(int)), *turned = calloc((size_t)count * size, sizeof(int));
  MPI_Request request;
  for (int i = 0; i < count; i++) mine[i] = 1;
  MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum[count - 1] != size) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
  MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(all, count, MPI_INT, turned, count, MPI_INT, MPI_COMM_WORLD);
  MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(all, count, MPI_INT, mine, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(mine, count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Ibcast(mine, count, MPI_INT, 0, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(mine, sum, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  free(mine), free(sum), free(all), free(turned);
}

static int forget(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)extra;
  free(value);
  return MPI_SUCCESS;
}

static void objects(void) {
  int key, matrix[16] = {0};
  MPI_Comm comm, half;
  MPI_Datatype column;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_split(comm, rank % 2, rank, &half);
  MPI_Type_vector(4, 1, 4, MPI_INT, &column), MPI_Type_commit(&column);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
  MPI_Comm_set_attr(half, key, malloc(100));
  // What only the library knows until the end is no leak.
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, strdup("an attribute"));
  MPI_Bcast(matrix, 1, column, 0, half);
  MPI_Type_free(&column), MPI_Comm_free(&half), MPI_Comm_free(&comm);
}

static void *increment(void *argument) {
  for (int i = 0; i < 100000; i++) shared++;
  return argument;
}

static void mistake(const char *which) {
  volatile int index = 4;
  int *block = malloc(4 * sizeof(int));
  if (!strcmp(which, "overrun")) block[index] = 1;
  if (!strcmp(which, "leak")) block = malloc(1000), memset(block, 0, 1000), block = NULL;
  if (!strcmp(which, "overflow")) index += 0x7ffffffe, printf("%d\n", index + index);
  if (!strcmp(which, "race")) {
    pthread_t thread;
    pthread_create(&thread, NULL, increment, NULL), increment(NULL), pthread_join(thread, NULL);
  }
  if (!strcmp(which, "uninitialised") && block[index - 2] == 77) puts("seven");
  free(block);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int count = 1; count <= 100000; count *= 46) messages(count), collectives(count);
  objects();
  if (rank == size - 1 && argc > 1) mistake(argv[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("fine");
  MPI_Finalize();
  return 0;
}
