// The environment is a rank's own: what it sets reaches its children, and nobody else; `environ` may be assigned.
// weft-test: ranks=1,4
#include "check.h"
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Returns what a command prints, without its line's end.
static const char *said(const char *command) {
  static char text[200];
  FILE *pipe = popen(command, "r");
  size_t length = fread(text, 1, sizeof text - 1, pipe);
  CHECK_EQUAL(pclose(pipe), 0);
  text[length > 0 ? length - 1 : 0] = 0;
  return text;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  char mine[20], command[200];
  snprintf(mine, sizeof mine, "value %d", check_rank);
  CHECK_EQUAL(setenv("WEFT_TEST_MINE", mine, 1), 0);
  MPI_Barrier(MPI_COMM_WORLD);

  CHECK(strcmp(said("echo \"$WEFT_TEST_MINE\""), mine) == 0);
  snprintf(command, sizeof command, "test \"$WEFT_TEST_MINE\" = '%s' || exit 3", mine);
  CHECK_EQUAL(system(command), 0);
  CHECK_EQUAL(system("exit 7"), 7 << 8);
  CHECK(system(NULL) != 0);

  // Each rank waits for its own children only.
  char *words[] = {"sh", "-c", command, NULL};
  pid_t child[3];
  snprintf(command, sizeof command, "test \"$WEFT_TEST_MINE\" = '%s' && exit %d", mine, 20 + check_rank);
  for (int i = 0; i < 3; i++)
    CHECK_EQUAL(posix_spawnp(&child[i], "sh", NULL, NULL, words, environ), 0);
  int status = 0, seen = 0;
  for (int i = 0; i < 2; i++) {
    pid_t found = i == 0 ? wait(&status) : waitpid(-1, &status, 0);
    for (int k = 0; k < 3; k++)
      seen += found == child[k];
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 20 + check_rank);
  }
  CHECK_EQUAL(seen, 2);
  siginfo_t info;
  CHECK_EQUAL(waitid(P_ALL, 0, &info, WEXITED), 0);
  CHECK_EQUAL(info.si_status, 20 + check_rank);
  CHECK(wait(&status) == -1 && errno == ECHILD);
  MPI_Barrier(MPI_COMM_WORLD);

  // A search takes the rank's PATH.
  setenv("PATH", "/nowhere", 1);
  CHECK_EQUAL(posix_spawnp(&child[0], "sh", NULL, NULL, words, environ), ENOENT);
  setenv("PATH", "/bin:/usr/bin", 1);

  // Writing into what getenv returns, or to an element, is a rank's own affair.
  char *path = getenv("PATH");
  CHECK(strtok(path, ":") == path);
  CHECK(strcmp(getenv("PATH"), "/bin") == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  setenv("PATH", "/bin:/usr/bin", 1);
  char entry[40];
  snprintf(entry, sizeof entry, "WEFT_TEST_FIRST=%d", check_rank);
  environ[0] = entry;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(getenv("WEFT_TEST_FIRST") && atoi(getenv("WEFT_TEST_FIRST")) == check_rank);
  CHECK_EQUAL(atoi(said("echo $WEFT_TEST_FIRST")), check_rank);
  char *few[] = {entry, "PATH=/bin:/usr/bin", NULL};
  environ = few;
  CHECK(getenv("WEFT_TEST_MINE") == NULL);
  CHECK(strcmp(said("echo \"=$WEFT_TEST_MINE\""), "=") == 0);
  setenv("WEFT_TEST_MORE", "1", 1);
  CHECK(environ != few && getenv("WEFT_TEST_MORE"));
  environ = NULL;
  CHECK(getenv("WEFT_TEST_FIRST") == NULL);
  setenv("WEFT_TEST_MORE", "2", 1);
  CHECK(environ && environ[0] && !environ[1] && strcmp(environ[0], "WEFT_TEST_MORE=2") == 0);
  clearenv();
  CHECK(!environ || !environ[0]);
  return check_end();
}
