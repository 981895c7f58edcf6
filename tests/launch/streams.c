// What a rank does to its standard streams, by its first argument: all but rank 0 silence or turn away what they print,
// then each prints in every way. A second argument names a file for the rank, if `%d` in it is its number.
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>

static int rank, size;
static char name[4000];

static void say(const char *what) {
  printf("%d printf %s\n", rank, what);
  char line[100];
  snprintf(line, sizeof line, "%d puts %s", rank, what);
  puts(line);
  putchar('0' + rank), putchar(' '), putchar_unlocked('c'), putchar('\n');
  fprintf(stdout, "%d fprintf\n", rank);
  fflush(stdout);
  snprintf(line, sizeof line, "%d write %s\n", rank, what);
  if (write(1, line, strlen(line)) < 0) fprintf(stderr, "%d write: %m\n", rank);
  struct iovec part = {line, strlen(line)};
  if (writev(STDOUT_FILENO, &part, 1) < 0) fprintf(stderr, "%d writev: %m\n", rank);
  dprintf(1, "%d dprintf\n", rank);
  // libc writes these in pieces, between which lines of other ranks must not fall.
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < size; turn++) {
    if (turn == rank) {
      errno = ENOENT;
      snprintf(line, sizeof line, "%d perror", rank);
      perror(line);
      fprintf(stderr, "%d stderr\n", rank);
      warnx("%d warnx", rank);
      error(0, EINVAL, "%d error", rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void numbers(void) {
  struct stat status;
  int in = fileno(stdin), out = fileno(stdout), err = fileno(stderr);
  printf("%d fileno %d %d %d fstat %d tty %d\n", rank, in, out, err, fstat(1, &status), isatty(1));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *what = argc > 1 ? argv[1] : "";
  if (argc > 2) snprintf(name, sizeof name, argv[2], rank);
  int others = rank != 0, null = -1, saved = -1;
  if (!strcmp(what, "freopen") && others && !freopen("/dev/null", "w", stdout)) return 1;
  if (!strcmp(what, "freopen-file") && !freopen(name, "w", stdout)) return 1;
  if (!strcmp(what, "freopen-stderr") && others && !freopen("/dev/stdout", "w", stderr)) return 1;
  if (!strcmp(what, "fclose") && others && fclose(stdout)) return 1;
  if (!strcmp(what, "close") && others && close(1)) return 1;
  if (!strcmp(what, "close-all") && others) close(0), close(1), close(2);
  if (!strcmp(what, "dup2") && others) null = open("/dev/null", O_WRONLY), dup2(null, 1), dup2(null, 2), close(null);
  if (!strcmp(what, "assign") && others) stdout = fopen("/dev/null", "w");
  if (!strcmp(what, "stderr") && others) stderr = stdout;
  if (!strcmp(what, "merge") && others) dup2(1, 2);
  if (!strcmp(what, "back")) {
    saved = dup(1);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(file, 1) != 1 || close(file)) return 1;
    MPI_Barrier(MPI_COMM_WORLD);
    say("to the file");
    MPI_Barrier(MPI_COMM_WORLD);
    if (dup2(saved, STDOUT_FILENO) != 1 || close(saved)) return 1;
  }
  if (!strcmp(what, "reopen")) {
    MPI_Barrier(MPI_COMM_WORLD);
    close(0);
    int first = open("/dev/null", O_RDONLY), second = -1;
    close(1);
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    close(0);
    second = dup(2);
    fprintf(stderr, "%d got %d %d %d\n", rank, first, file, second);
    close(0);
    FILE *stream = fopen("/dev/null", "r");
    fprintf(stderr, "%d fopen %d\n", rank, fileno(stream));
    fclose(stream);
    int ends[2];
    if (pipe(ends)) return 1;
    fprintf(stderr, "%d pipe %d\n", rank, ends[0]);
    char byte = 0;
    if (write(ends[1], "x", 1) != 1 || read(0, &byte, 1) != 1 || byte != 'x') return 1;
  }
  if (!strcmp(what, "read")) {
    char line[100] = "nothing";
    struct pollfd source = {0, POLLIN, 0};
    int ready = poll(&source, 1, 10000);
    if (!fgets(line, sizeof line, stdin)) strcpy(line, "nothing\n");
    int next = getchar();
    int number = -1;
    int scanned = scanf("%d", &number);
    printf("%d poll %d line %.*s next %d scanned %d %d\n", rank, ready, (int)strcspn(line, "\n"), line, next, scanned, number);
  }
  if (!strcmp(what, "assert")) {
    if (others) assert(!"rank 1 fails");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!strcmp(what, "buffer")) {
    printf("%d is in a buffer\n", rank);
    FILE *file = fopen(name, "w");
    fprintf(file, "%d in a file\n", rank);
    MPI_Finalize();
    // Nothing is flushed by `_exit`, everything by `exit`.
    if (others && argc > 3) _exit(0);
    exit(0);
  }
  if (!strcmp(what, "wide")) {
    wprintf(L"%d wide\n", rank);
    putwchar(L'0' + rank), putwchar(L'\n');
    MPI_Finalize();
    return 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "close") && strcmp(what, "close-all") && strcmp(what, "fclose")) numbers();
  say(what);
  MPI_Finalize();
  printf("%d at the end", rank);
  return 0;
}
