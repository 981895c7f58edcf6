// Rank N sends N messages to itself, and N more by a plugin if it is given one; says what LD_PRELOAD is if asked to, and whether
// MPI_Send is the same for dlsym.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int weft_test_rank = -1;
extern int weft_test_other(void) __attribute__((weak));

int main(int argc, char **argv) {
  int word = 0, came, rank;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  weft_test_rank = rank;
  int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;
  void *(*find)(void *, const char *) = dlsym;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < rank; i++) {
      MPI_Irecv(&came, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
      send(&word, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (argc < 2 || strcmp(argv[1], "plugin")) break;
    void *plugin = dlopen(argv[2], RTLD_NOW);
    if (!plugin) printf("no plugin: %s\n", dlerror());
    *(void **)&send = plugin ? dlsym(plugin, "send_one") : NULL;
    if (!send) return 1;
    if (find(RTLD_DEFAULT, "MPI_Send") != (void *)MPI_Send) printf("rank %d: dlsym finds another MPI_Send\n", rank);
  }
  if (argc > 1 && !strcmp(argv[1], "say")) printf("rank %d: LD_PRELOAD %s, other %d\n", rank, getenv("LD_PRELOAD"), weft_test_other ? weft_test_other() : -1);
  MPI_Finalize();
  return 0;
}
