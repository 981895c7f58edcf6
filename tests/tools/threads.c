#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int rank;
static void *work(void *argument) {
  int number = (int)(long)argument, other = !rank;
  for (int n = 1; n < 100000; n *= 7) {
    int *out = malloc(n * sizeof(int)), *in = malloc(n * sizeof(int));
    for (int k = 0; k < 5; k++) {
      MPI_Request requests[2];
      for (int i = 0; i < n; i++) out[i] = rank + i;
      MPI_Irecv(in, n, MPI_INT, other, number, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, n, MPI_INT, other, number, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < n; i++)
        if (in[i] != other + i) abort();
    }
    free(out), free(in);
  }
  return NULL;
}
int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t threads[3];
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  if (rank == 0) puts("fine");
  MPI_Finalize();
  return 0;
}
