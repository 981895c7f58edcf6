// Programs that cannot be started: every rank is told, and goes on.
// weft-test: ranks=1,3 faults=yes
#include "family.h"

#include <signal.h>

// Wants the spawn of `ranks` processes to fail on all ranks, with a message that says so much.
static void refused(const char *program, const char *word, MPI_Info info, int ranks, const char *says) {
  char *arguments[] = {(char *)word, NULL}, message[MPI_MAX_ERROR_STRING] = "";
  int codes[3] = {-1, -1, -1}, length, rank;
  MPI_Comm children = MPI_COMM_WORLD;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = MPI_Comm_spawn(program, word ? arguments : MPI_ARGV_NULL, ranks, info, 0, MPI_COMM_WORLD, &children, codes);
  CHECK_CLASS(code, MPI_ERR_SPAWN);
  CHECK(children == MPI_COMM_NULL);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(codes[i], i < ranks ? MPI_ERR_SPAWN : -1);
  MPI_Error_string(code, message, &length);
  if (!strstr(message, says)) printf("%s %s: %s\n", program, word ? word : "", message);
  CHECK(strstr(message, says) != NULL);
}

static void wrong_place(const char *program, const char *key, const char *value, const char *says) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, key, value));
  refused(program, NULL, info, 1, says);
  CHECK_OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
  // Children that never get through MPI_Init.
  if (argc > 1 && strcmp(argv[1], "ends") == 0) return 0;
  if (argc > 1 && strcmp(argv[1], "fails") == 0) return 3;
  if (argc > 1 && strcmp(argv[1], "crashes") == 0) raise(SIGKILL);
  check_init(&argc, &argv);
  MPI_Comm children = MPI_COMM_WORLD;
  int codes[3] = {-1, -1, -1}, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_CLASS(MPI_Comm_spawn("./there-is-no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                             codes), MPI_ERR_SPAWN);
  CHECK(children == MPI_COMM_NULL);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(codes[i], MPI_ERR_SPAWN);
  char *commands[] = {argv[0], "./there-is-no-such-program"};
  int numbers[] = {1, 2};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  CHECK_CLASS(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, numbers, infos, size - 1, MPI_COMM_WORLD, &children,
                                      MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &children, codes),
              MPI_ERR_ROOT);
  refused("/bin/true", NULL, MPI_INFO_NULL, 2, "MPI_Init");
  refused("/bin/false", NULL, MPI_INFO_NULL, 1, "code 1");
  refused(argv[0], "ends", MPI_INFO_NULL, 3, "MPI_Init");
  refused(argv[0], "fails", MPI_INFO_NULL, 2, "code 3");
  refused(argv[0], "crashes", MPI_INFO_NULL, 2, "SIGKILL");
  refused("/etc/passwd", NULL, MPI_INFO_NULL, 1, "/etc/passwd");
  refused("/", NULL, MPI_INFO_NULL, 1, "/");
  wrong_place(argv[0], "wdir", "/there/is/no/such/directory", "/there/is/no/such/directory");
  wrong_place("spawn_errors", "path", "/there/is/no/such/directory", "spawn_errors");
  wrong_place(argv[0], "soft", "5:9", "soft");
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "arch", "abacus"));
  CHECK_CLASS(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &children, codes), MPI_ERR_SPAWN);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  return check_end();
}
