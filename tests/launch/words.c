// Prints one line per rank for what its first argument names.
#define _GNU_SOURCE
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>
#include <unistd.h>

extern char **environ;
static int rank, size;

static void options(int argc, char **argv) {
  char line[400] = "";
  static struct option table[] = {{"long", required_argument, 0, 'l'}, {0, 0, 0, 0}};
  for (int pass = 0; pass < 2; pass++) {
    int c;
    optind = pass == 0 ? 2 : 0;
    char *vector[20];
    int count = 0;
    for (int i = pass == 0 ? 0 : 1; i < argc; i++) vector[count++] = argv[i];
    vector[count] = 0;
    while ((c = getopt_long(count, vector, "ab:", table, 0)) != -1) {
      char word[100];
      snprintf(word, sizeof word, "%c%s ", c, optarg ? optarg : "");
      strcat(line, word);
      MPI_Barrier(MPI_COMM_WORLD);  // others are in the middle of theirs
    }
    if (pass == 0) strcat(line, "| ");
  }
  printf("%d %s%s\n", rank, line, argv[argc - 1]);
}

static void numbers(void) {
  int first = rand();
  MPI_Barrier(MPI_COMM_WORLD);
  srand(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  int second = rand();
  MPI_Barrier(MPI_COMM_WORLD);
  long third = lrand48();
  printf("%d %d %d %ld\n", rank, first, second, third);
}

static void tokens(void) {
  char text[] = "a,b,c";
  char line[20] = "";
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    strcat(line, word);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  time_t when = 86400L * 366 * (rank + 1);
  struct tm *broken = gmtime(&when);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d %s %d\n", rank, line, broken->tm_year);
}

static void environment(void) {
  char value[20];
  snprintf(value, sizeof value, "%d", rank);
  setenv("OWN", value, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  int found = 0;
  for (char **entry = environ; *entry; entry++) found += !strncmp(*entry, "OWN=", 4);
  printf("%d %s %d\n", rank, getenv("OWN"), found);
}

static void farewell(void) { printf("%d farewell\n", rank); }
static void second_farewell(void) { printf("%d second\n", rank); }
__attribute__((destructor)) static void last(void) {
  if (getenv("SHOW_END")) printf("%d destructor\n", rank);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "rank";
  if (!strcmp(what, "exit before init")) exit(argc > 2 ? atoi(argv[2]) : 0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(what, "rank")) printf("%d of %d\n", rank, size);
  if (!strcmp(what, "arguments")) for (int i = 2; i < argc; i++) printf("%d [%s]\n", rank, argv[i]);
  if (!strcmp(what, "getenv")) printf("%d %s\n", rank, getenv(argv[2]) ? getenv(argv[2]) : "(none)");
  if (!strcmp(what, "directory")) { char path[4096]; printf("%d %s\n", rank, getcwd(path, sizeof path)); }
  if (!strcmp(what, "options")) options(argc, argv);
  if (!strcmp(what, "numbers")) numbers();
  if (!strcmp(what, "tokens")) tokens();
  if (!strcmp(what, "environment")) environment();
  if (!strcmp(what, "universe")) {
    int *number, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &number, &flag);
    char text[20] = "unknown";
    if (flag) snprintf(text, sizeof text, "%d", *number);
    printf("%d %s\n", rank, text);
  }
  if (!strcmp(what, "application")) {
    int *number, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    printf("%d of %d in %d %s\n", rank, size, flag ? *number : -1, getenv("BLOCK") ? getenv("BLOCK") : "-");
  }
  if (!strcmp(what, "stdin") && rank == 0) {
    char line[100];
    while (fgets(line, sizeof line, stdin)) printf("%d %s", rank, line);
  }
  if (!strcmp(what, "end")) {
    atexit(farewell);
    atexit(second_farewell);
  }
  MPI_Finalize();
  if (!strcmp(what, "code")) return rank == atoi(argv[2]) ? atoi(argv[3]) : 0;
  if (!strcmp(what, "quick")) _exit(0);
  return 0;
}
