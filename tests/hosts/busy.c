// A long message between two ranks of which one, or the other, computes and calls no MPI until it is through: the first half of
// the ranks sends to the second half. `receiver` watches its buffer, `sender` a file that its partner makes when it has all.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 8 << 20, LIMIT_S = 60, DATA = 1, READY = 2 };

static int is_late(void) {
  static time_t end;
  if (!end) end = time(NULL) + LIMIT_S;
  return time(NULL) > end;
}

static void path_of(char *path, size_t room, const char *folder, int rank) { snprintf(path, room, "%s/through-%d", folder, rank); }

static int send_and(int computes, const char *folder, int partner) {
  char *data = malloc(BYTES), path[512];
  int ready, wrong = 0;
  memset(data, 7, BYTES);
  MPI_Recv(&ready, 1, MPI_INT, partner, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_Isend(data, BYTES, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &request);
  path_of(path, sizeof path, folder, partner);
  while (computes && !wrong && access(path, F_OK)) wrong = is_late();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(data);
  return wrong;
}

static int receive_and(int computes, const char *folder, int rank, int partner) {
  char *data = calloc(1, BYTES), path[512];
  int ready = 1, wrong = 0;
  MPI_Request request;
  MPI_Irecv(data, BYTES, MPI_BYTE, partner, DATA, MPI_COMM_WORLD, &request);
  MPI_Send(&ready, 1, MPI_INT, partner, READY, MPI_COMM_WORLD);
  while (computes && !wrong && *(volatile char *)(data + BYTES - 1) != 7) wrong = is_late();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < BYTES; i++) wrong |= data[i] != 7;
  path_of(path, sizeof path, folder, rank);
  int file = open(path, O_CREAT | O_WRONLY, 0600);
  wrong |= file < 0 || close(file);
  free(data);
  return wrong;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) return 2;
  int half = size / 2, is_receiver = !strcmp(argv[1], "receiver");
  if (rank < half) wrong = send_and(!is_receiver, argv[2], rank + half);
  else wrong = receive_and(is_receiver, argv[2], rank, rank - half);
  if (wrong) printf("rank %d: the message did not get through while the %s computed\n", rank, argv[1]);
  MPI_Finalize();
  return wrong;
}
