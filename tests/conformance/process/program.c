// What a rank learns of its program: `/proc/self/exe`, the arguments, the names; and its own time zone.
// weft-test: ranks=1,3 args=-x,two
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

extern char *__progname, *__progname_full;

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char *real = realpath(argv[0], NULL), link[1000] = "", path[60];
  ssize_t length = readlink("/proc/self/exe", link, sizeof link - 1);
  CHECK_EQUAL(length, strlen(real));
  CHECK(strcmp(link, real) == 0);
  CHECK_EQUAL(readlink("/proc/self/exe", link, 4), 4);
  snprintf(path, sizeof path, "/proc/%d/exe", getpid());
  char *found = realpath(path, NULL);
  CHECK(found && strcmp(found, real) == 0);
  unsigned char head[4] = {0};
  int fd = open("/proc/self/exe", O_RDONLY);
  CHECK(fd >= 0 && read(fd, head, 4) == 4 && memcmp(head, "\177ELF", 4) == 0);
  CHECK_EQUAL(lseek(fd, 0, SEEK_END) > 1000, 1);
  close(fd);

  char line[2000] = "", expected[2000];
  FILE *file = fopen("/proc/self/cmdline", "r");
  size_t size = file ? fread(line, 1, sizeof line, file) : 0, at = 0;
  for (int i = 0; i < argc; i++)
    at += sprintf(expected + at, "%s", argv[i]) + 1;
  CHECK_EQUAL(size, at);
  CHECK(memcmp(line, expected, at) == 0);
  fclose(file);
  const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
  file = fopen("/proc/self/comm", "r");
  snprintf(expected, sizeof expected, "%.15s\n", name);
  CHECK(file && fgets(line, sizeof line, file) && strcmp(line, expected) == 0);
  fclose(file);

  CHECK(strcmp(program_invocation_name, argv[0]) == 0);
  CHECK(strcmp(__progname_full, argv[0]) == 0);
  CHECK(strcmp(program_invocation_short_name, name) == 0);
  CHECK(strcmp(__progname, name) == 0);
  CHECK(strcmp(realpath((char *)getauxval(AT_EXECFN), NULL), real) == 0);
  snprintf(path, sizeof path, "rank %d", check_rank);
  program_invocation_short_name = path;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(strcmp(program_invocation_short_name, path) == 0);

  time_t noon = 12 * 3600;
  char zone[20], text[40];
  for (int round = 0; round < 3; round++) {
    snprintf(zone, sizeof zone, "AB%c-%d", 'A' + check_rank, check_rank + 1);
    setenv("TZ", zone, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    struct tm *local = localtime(&noon);
    CHECK_EQUAL(local->tm_hour, 13 + check_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    struct tm copy = *local;
    CHECK_EQUAL(mktime(&copy), noon);
    strftime(text, sizeof text, "%H %Z", local);
    snprintf(path, sizeof path, "%d AB%c", 13 + check_rank, 'A' + check_rank);
    CHECK(strcmp(text, path) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQUAL(timezone, -3600 * (check_rank + 1));
    CHECK(strncmp(tzname[0], path + 3, 3) == 0);
    setenv("TZ", "UTC", 1);
    tzset();
    CHECK_EQUAL(timezone, 0);
  }
  return check_end();
}
