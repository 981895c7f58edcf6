// Jobs that connect and part again and again, and jobs that are spawned and let go of one after the other, leave neither
// mappings nor descriptors in those who stay. More rounds: PARTING_ROUNDS=200.
// weft-test: ranks=1,3
#include "family.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>

static int shared_mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int count = 0;
  while (maps && fgets(line, sizeof line, maps)) count += strstr(line, "/memfd:weft") != NULL;
  if (maps) fclose(maps);
  return count;
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

// Whoever is about to leave shared memory does so in a moment; what stays would be waited for in vain.
static void no_more_than(int mappings, int files) {
  while (shared_mappings() > mappings || descriptors() > files) sched_yield();
}

static void connected_once(const char *port, int accepts) {
  MPI_Comm inter;
  if (accepts)
    CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  else
    CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
  int one = 1, sum = 0, others = 0;
  family_rank(inter);
  CHECK_OK(MPI_Comm_remote_size(inter, &others));
  CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK_EQUAL(sum, others);
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

static void rounds_of_connecting(const char *port, int accepts, int rounds) {
  // What is made once is there after the first round.
  connected_once(port, accepts);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  int mappings = shared_mappings(), files = descriptors();
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int round = 0; round < rounds; round++) connected_once(port, accepts);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  no_more_than(mappings, files);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  const char *wish = getenv("PARTING_ROUNDS");
  int rounds = wish ? atoi(wish) : 20, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm parent, children;
  CHECK_OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    family_rank(parent);
    CHECK_OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, parent));
    CHECK_OK(MPI_Comm_disconnect(&parent));
    if (port[0]) rounds_of_connecting(port, 0, rounds);
    return check_end();
  }
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int rank = family_rank(MPI_COMM_WORLD), mappings = 0, files = 0;
  for (int round = 0; round <= 2 + rounds / 10; round++) {
    // All but the first children only come and go.
    if (round == 0 && rank == 0) CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK_OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    family_rank(children);
    CHECK_OK(MPI_Bcast(port, sizeof port, MPI_CHAR, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children));
    CHECK_OK(MPI_Comm_disconnect(&children));
    if (round == 0) {
      CHECK_OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
      rounds_of_connecting(port, 1, rounds);
      if (rank == 0) CHECK_OK(MPI_Close_port(port));
      port[0] = 0;
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (round == 1) mappings = shared_mappings(), files = descriptors();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  no_more_than(mappings, files);
  return check_end();
}
