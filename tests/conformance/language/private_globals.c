// Variables of the program are a rank's own, however they are defined, and so is the hidden state of the C library that
// programs rely on: getopt, rand, random, drand48, strtok, errno, and the text buffers of localtime and asctime.
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <getopt.h>
#include <time.h>

int exported = 5;
static int hidden = 6;
int common[4];
static __thread int threaded = 7;
_Thread_local int *pointer_to_exported = NULL;
int *address_in_data = &exported;
static const char *const names[] = {"zero", "one", "two"};
const char *text_in_data = "untouched";

static int next_local(void) {
  static int calls;
  return ++calls;
}
static int run_first;
__attribute__((constructor)) static void construct(void) { run_first = 99; }

int main(int argc, char **argv) {
  CHECK_EQUAL(run_first, 99);
  check_init(&argc, &argv);
  int rank = check_rank, size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exported += rank, hidden += rank, threaded += rank, common[rank % 4] = rank;
  pointer_to_exported = &exported;
  for (int i = 0; i <= rank; i++) next_local();
  errno = 1000 + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(errno, 1000 + rank);
  CHECK_EQUAL(exported, 5 + rank);
  CHECK_EQUAL(hidden, 6 + rank);
  CHECK_EQUAL(threaded, 7 + rank);
  CHECK_EQUAL(common[rank % 4], rank);
  CHECK_EQUAL(*pointer_to_exported, 5 + rank);
  CHECK_EQUAL(*address_in_data, 5 + rank);
  CHECK_EQUAL(next_local(), rank + 2);
  CHECK(strcmp(names[2], "two") == 0 && strcmp(text_in_data, "untouched") == 0);

  // Every rank draws the same numbers from the same seed, though they take turns.
  srand(12);
  srandom(34);
  srand48(56);
  long mine[60];
  for (int i = 0; i < 20; i++) {
    mine[3 * i] = rand();
    if (i % 5 == 0) MPI_Barrier(MPI_COMM_WORLD);
    mine[3 * i + 1] = random();
    mine[3 * i + 2] = lrand48();
  }
  long others[60];
  memcpy(others, mine, sizeof mine);
  CHECK_OK(MPI_Bcast(others, 60, MPI_LONG, size - 1, MPI_COMM_WORLD));
  CHECK(memcmp(others, mine, sizeof mine) == 0);
  // The numbers are the C library's: the same generator with the state in the program gives them too.
  struct random_data data = {0};
  char state[128];
  int32_t drawn;
  initstate_r(34, state, sizeof state, &data);
  struct drand48_data data48 = {0};
  long drawn48;
  srand48_r(56, &data48);
  for (int i = 0; i < 20; i++) {
    lrand48_r(&data48, &drawn48);
    CHECK_EQUAL(mine[3 * i + 2], drawn48);
  }
  srandom(34);
  for (int i = 0; i < 20; i++) {
    random_r(&data, &drawn);
    CHECK_EQUAL(random(), drawn);
  }

  // getopt: every rank reads its own arguments, and stops in between.
  char a[] = "program", b[] = "-x", c[] = "-n", number[20], e[] = "rest";
  snprintf(number, sizeof number, "%d", rank);
  char *arguments[] = {a, b, c, number, e, NULL};
  int option, saw_x = 0, n = -1;
  optind = 1;
  while ((option = getopt(5, arguments, "xn:")) != -1) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (option == 'x') saw_x = 1;
    if (option == 'n') n = atoi(optarg);
  }
  CHECK(saw_x && n == rank && optind == 4);
  char l[] = "--size=12", v[] = "--verbose";
  char *long_arguments[] = {a, l, v, NULL};
  static const struct option options[] = {{"size", required_argument, NULL, 's'}, {"verbose", no_argument, NULL, 'v'}, {0}};
  int seen = 0;
  optind = 1;
  while ((option = getopt_long(3, long_arguments, "", options, NULL)) != -1) {
    MPI_Barrier(MPI_COMM_WORLD);
    seen += option == 's' ? atoi(optarg) : option == 'v' ? 100 : 1000;
  }
  CHECK_EQUAL(seen, 112);

  // strtok remembers where it is.
  char words[60];
  snprintf(words, sizeof words, "a%d,b%d,c%d", rank, rank, rank);
  int count = 0;
  for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
    CHECK(word[0] == 'a' + count && atoi(word + 1) == rank);
    count++;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_EQUAL(count, 3);

  // Text buffers.
  time_t when = 86400 * 365L * (1 + rank);
  struct tm expected;
  gmtime_r(&when, &expected);
  const struct tm *shared = gmtime(&when);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(shared->tm_year == expected.tm_year && shared->tm_yday == expected.tm_yday);
  char mine_text[64];
  const char *text = asctime(&expected);
  asctime_r(&expected, mine_text);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(strcmp(text, mine_text) == 0);
  return check_end();
}
