// Starts itself as its command line says, and prints where the processes are: COUNT KEY=VALUE… for a program, + between programs
// of one job, / between jobs, which live until the last has been started.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

static int child(MPI_Comm parent) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length, one = 1, sum;
  MPI_Get_processor_name(name, &length);
  MPI_Gather(name, sizeof name, MPI_CHAR, NULL, 0, MPI_CHAR, 0, parent);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return 0;
}

// Starts the job that the words describe; returns the way to it, if there is one.
static MPI_Comm start(char *program, char **words, int count) {
  char *programs[MOST];
  int ranks[MOST], codes[MOST * MOST], blocks = 0, rank, failed = 0, all = 0;
  MPI_Info infos[MOST];
  MPI_Comm children;
  for (int i = 0; i < count; i++) {
    char *value = strchr(words[i], '=');
    if (i == 0 || strcmp(words[i], "+") == 0) {
      programs[blocks] = program;
      ranks[blocks] = atoi(words[i == 0 ? i : ++i]);
      all += ranks[blocks];
      MPI_Info_create(&infos[blocks++]);
    } else if (value) {
      *value = 0;
      MPI_Info_set(infos[blocks - 1], words[i], value + 1);
    }
  }
  int code = MPI_Comm_spawn_multiple(blocks, programs, MPI_ARGVS_NULL, ranks, infos, 0, MPI_COMM_WORLD, &children, codes);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    for (int i = 0; i < all; i++) failed += codes[i] == MPI_ERR_SPAWN;
    if (rank == 0) printf("class %s, %d codes of %d: %s\n", class == MPI_ERR_SPAWN ? "spawn" : "other", failed, all, text);
    return MPI_COMM_NULL;
  }
  char *names = malloc((size_t)all * MPI_MAX_PROCESSOR_NAME);
  int root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Gather(NULL, 0, MPI_CHAR, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, root, children);
  for (int i = 0; rank == 0 && i < all; i++) printf("%s%c", names + i * MPI_MAX_PROCESSOR_NAME, i < all - 1 ? ' ' : '\n');
  free(names);
  for (int i = 0; i < blocks; i++) MPI_Info_free(&infos[i]);
  return children;
}

int main(int argc, char **argv) {
  MPI_Comm parent, jobs[MOST];
  int count = 0, sum, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int first = 1, i = 1; i <= argc; i++)
    if (i == argc || strcmp(argv[i], "/") == 0) {
      jobs[count++] = start(argv[0], argv + first, i - first);
      first = i + 1;
    }
  for (int i = 0; i < count; i++)
    if (jobs[i] != MPI_COMM_NULL) {
      MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, jobs[i]);
      MPI_Comm_disconnect(&jobs[i]);
    }
  MPI_Finalize();
  return 0;
}
