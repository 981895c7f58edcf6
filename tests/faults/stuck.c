// Some ranks wait for each other for ever while others run: argv[1] says how. What begins with "late" only looks like it and
// ends well.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATE_S = 5, LONG = 1 << 20, TAG = 7 };

static int rank, size, word;
static char data[LONG];
static MPI_Comm pair;  // Ranks 0 and 1, and in other communicators the others.

static void compute(double seconds) {
  for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) continue;
}
static void receive(int source, MPI_Comm comm) { MPI_Recv(&word, 1, MPI_INT, source, TAG, comm, MPI_STATUS_IGNORE); }
static void send(int target, MPI_Comm comm) { MPI_Send(&rank, 1, MPI_INT, target, TAG, comm); }
static void *receive_too(void *nothing) {
  MPI_Recv(&word, 1, MPI_INT, 1 - rank, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return nothing;
}
static void *send_late(void *nothing) {
  sleep(LATE_S);
  send(1 - rank, MPI_COMM_WORLD);
  return nothing;
}
static void *cancel_late(void *request) {
  sleep(LATE_S);
  MPI_Cancel(request);
  return NULL;
}
static int query(void *extra, MPI_Status *status) {
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static int free_nothing(void *extra) { return extra ? MPI_ERR_OTHER : MPI_SUCCESS; }
static int cancel_nothing(void *extra, int complete) { return extra && complete ? MPI_ERR_OTHER : MPI_SUCCESS; }
static void *complete_late(void *request) {
  sleep(LATE_S);
  MPI_Grequest_complete(*(MPI_Request *)request);
  return NULL;
}

// Ranks 0 and 1 stay for ever; the others would run for long.
static void stay(const char *how) {
  int other = 1 - rank, flag;
  MPI_Request requests[2];
  MPI_Status status;
  if (rank > 1) {
    if (rank % 2) compute(300);
    else sleep(300);
    return;
  }
  if (!strcmp(how, "receive")) receive(other, MPI_COMM_WORLD);
  if (!strcmp(how, "any source")) receive(MPI_ANY_SOURCE, pair);
  if (!strcmp(how, "send")) MPI_Send(data, LONG, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
  if (!strcmp(how, "synchronous")) MPI_Ssend(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
  if (!strcmp(how, "probe")) MPI_Probe(other, TAG, MPI_COMM_WORLD, &status);
  if (!strcmp(how, "barrier")) {
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);
    else receive(other, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "of two")) {
    if (rank == 0) MPI_Barrier(pair);
    else receive(0, pair);
  }
  if (!strcmp(how, "broadcast")) {
    if (rank == 0) MPI_Bcast(&word, 1, MPI_INT, 1, MPI_COMM_WORLD);
    else receive(other, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "finalize")) {
    if (rank == 1) MPI_Finalize();
    receive(other, MPI_COMM_WORLD);
  }
  if (!strncmp(how, "wait", 4)) {
    MPI_Irecv(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&flag, 1, MPI_INT, other, TAG + 1, pair, &requests[1]);
    if (!strcmp(how, "wait")) MPI_Wait(&requests[0], &status);
    if (!strcmp(how, "waitall")) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (!strcmp(how, "waitany")) MPI_Waitany(2, requests, &flag, &status);
  }
  if (!strcmp(how, "threads")) {
    pthread_t thread;
    pthread_create(&thread, NULL, receive_too, NULL);
    receive(other, MPI_COMM_WORLD);
  }
}

static void go_on(const char *how) {
  int other = 1 - rank, which;
  pthread_t thread;
  if (!strcmp(how, "any source")) {
    // Rank 0 waits for anybody, and rank 1 for rank 0.
    if (rank == 0) receive(MPI_ANY_SOURCE, MPI_COMM_WORLD), send(1, MPI_COMM_WORLD);
    if (rank == 1) receive(0, MPI_COMM_WORLD);
    if (rank == 2) compute(LATE_S), send(0, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "thread") && rank < 2) {
    if (rank == 1) pthread_create(&thread, NULL, send_late, NULL);
    receive(other, MPI_COMM_WORLD);
    if (rank == 0) send(1, MPI_COMM_WORLD);
    if (rank == 1) pthread_join(thread, NULL);
  }
  if (!strcmp(how, "request") && rank < 2) {
    MPI_Request requests[2];
    MPI_Irecv(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[0]);
    if (rank == 0) {
      MPI_Grequest_start(query, free_nothing, cancel_nothing, NULL, &requests[1]);
      pthread_create(&thread, NULL, complete_late, &requests[1]);
      MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
      if (which != 1) exit(5);
      pthread_join(thread, NULL);
      send(1, MPI_COMM_WORLD);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      send(0, MPI_COMM_WORLD);
    }
  }
  if (!strcmp(how, "cancel") && rank < 2) {
    MPI_Request request;
    MPI_Irecv(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &request);
    pthread_create(&thread, NULL, cancel_late, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
  }
  if (!strcmp(how, "waitany")) {
    // Rank 0 waits for rank 1, which waits for it, or for rank 2, which computes.
    MPI_Request requests[2];
    if (rank == 0) {
      for (int i = 0; i < 2; i++) MPI_Irecv(&word, 1, MPI_INT, i + 1, TAG, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
      if (which != 1) exit(5);
      send(1, MPI_COMM_WORLD);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (rank == 1) receive(0, MPI_COMM_WORLD), send(0, MPI_COMM_WORLD);
    if (rank == 2) compute(LATE_S), send(0, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "chain")) {
    // Rank 0 waits for rank 1, and that in a broadcast for the last rank, which sleeps.
    if (rank == size - 1) sleep(LATE_S);
    if (rank == 0) receive(1, pair);
    MPI_Bcast(&word, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
    if (rank == 1) send(0, pair);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(how, "line")) {
    if (rank == size - 1) sleep(LATE_S);
    if (rank + 1 < size) receive(rank + 1, MPI_COMM_WORLD);
    if (rank > 0) MPI_Ssend(&word, 1, MPI_INT, rank - 1, TAG, MPI_COMM_WORLD);
  }
  if (!strcmp(how, "busy")) {
    // Ranks 0 and 1 nearly always wait for each other, in all ways there are; the others compute.
    MPI_Request requests[2];
    double end = MPI_Wtime() + LATE_S;
    int goes_on = 1;
    if (rank > 1) compute(LATE_S);
    while (rank < 2 && goes_on) {
      for (int round = 0; round < 50; round++) {
        if (rank == 0) send(1, pair), receive(1, pair);
        else receive(0, pair), send(0, pair);
        MPI_Sendrecv(data, LONG / 8, MPI_CHAR, other, 1, data + LONG / 2, LONG / 8, MPI_CHAR, other, 1, pair, MPI_STATUS_IGNORE);
        MPI_Irecv(&word, 1, MPI_INT, other, 2, pair, &requests[0]);
        MPI_Issend(&rank, 1, MPI_INT, other, 2, pair, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1 - which], MPI_STATUS_IGNORE);
        if (rank == 0) MPI_Ssend(&word, 1, MPI_INT, 1, 3, pair);
        else MPI_Probe(0, 3, pair, MPI_STATUS_IGNORE), MPI_Recv(&word, 1, MPI_INT, 0, 3, pair, MPI_STATUS_IGNORE);
        MPI_Bcast(data, round, MPI_CHAR, round % 2, pair);
        MPI_Barrier(pair);
      }
      goes_on = MPI_Wtime() < end;
      MPI_Bcast(&goes_on, 1, MPI_INT, 0, pair);
    }
  }
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &pair);
  if (!strncmp(how, "late ", 5)) go_on(how + 5);
  else stay(how);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
