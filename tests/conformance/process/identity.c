// Each rank has a process number of its own, which is no other rank's of its host and which the system understands.
// weft-test: ranks=1,4
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *number_in_thread(void *result) {
  *(pid_t *)result = getpid();
  return gettid() == getpid() ? result : NULL;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // Hosts have process numbers of their own, so those of ranks elsewhere say nothing here.
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length, color, ranks_here;
  MPI_Get_processor_name(host, &length);
  char(*hosts)[MPI_MAX_PROCESSOR_NAME] = malloc(size * sizeof *hosts);
  MPI_Allgather(host, sizeof host, MPI_CHAR, hosts, sizeof host, MPI_CHAR, MPI_COMM_WORLD);
  for (color = 0; strcmp(hosts[color], host) != 0; color++)
    ;
  free(hosts);
  MPI_Comm here;
  MPI_Comm_split(MPI_COMM_WORLD, color, 0, &here);
  MPI_Comm_size(here, &ranks_here);
  pid_t mine = getpid(), all[64], in_thread = 0;
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, here);
  MPI_Comm_free(&here);
  for (int i = 0; i < ranks_here; i++)
    for (int k = 0; k < i; k++)
      CHECK(all[i] != all[k]);
  CHECK_EQUAL(getpid(), mine);
  CHECK_EQUAL(gettid(), mine);
  CHECK(getppid() != mine);
  CHECK_EQUAL(kill(mine, 0), 0);
  CHECK_EQUAL(tgkill(mine, gettid(), 0), 0);
  CHECK_EQUAL(getpgid(mine), getpgrp());
  CHECK_EQUAL(getsid(mine), getsid(0));
  for (int i = 0; i < ranks_here; i++)
    CHECK_EQUAL(kill(all[i], 0), 0);
  char path[60];
  snprintf(path, sizeof path, "/proc/%d/status", mine);
  CHECK_EQUAL(access(path, R_OK), 0);
  pthread_t thread;
  void *is_first = &thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, number_in_thread, &in_thread), 0);
  pthread_join(thread, &is_first);
  CHECK_EQUAL(in_thread, mine);
  CHECK(is_first == NULL);
  return check_end();
}
