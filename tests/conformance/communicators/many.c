// Thousands of communicators made and freed one after the other, in every way, and a few hundred at once: nothing grows.
// weft-test: ranks=1,2,4 part=threads,kernel,processes,hosts
#include "check.h"
#include <unistd.h>

// Pages of memory in use, of the process that holds the rank.
static long pages(void) {
  long total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident;
}

static int size;

static void round_trip(MPI_Comm comm, int salt) {
  int rank, n, sum = 0;
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &n);
  int mine = rank + salt;
  CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, n * (n - 1) / 2 + n * salt);
}

static void make_and_free(int i) {
  MPI_Comm comm, part, made;
  MPI_Request request;
  MPI_Group group;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_split(comm, check_rank % 2, -check_rank, &part));
  if (i % 8 == 0) round_trip(part, i);
  CHECK_OK(MPI_Comm_free(&part));
  CHECK_OK(MPI_Comm_idup(comm, &part, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_free(&comm));
  MPI_Comm_group(part, &group);
  CHECK_OK(MPI_Comm_create_group(part, group, i, &made));
  if (i % 8 == 1) round_trip(made, i);
  CHECK_OK(MPI_Comm_free(&made));
  CHECK_OK(MPI_Comm_create_from_group(group, "many", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
  if (i % 8 == 2) round_trip(made, i);
  CHECK_OK(MPI_Comm_free(&made));
  MPI_Group_free(&group);
  CHECK_OK(MPI_Comm_free(&part));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  enum { ROUNDS = 2000 };
  for (int i = 0; i < ROUNDS; i++) make_and_free(i);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = pages();
  for (int i = 0; i < ROUNDS; i++) make_and_free(i);
  MPI_Barrier(MPI_COMM_WORLD);
  long grown = (pages() - before) * sysconf(_SC_PAGESIZE);
  // 8000 communicators per rank: a leak of 256 bytes each would be two million bytes and more.
  if (check_rank == 0 && grown > 1500000) {
    fprintf(stderr, "%ld bytes more in use after %d communicators\n", grown, 4 * ROUNDS);
    CHECK(0);
  }

  // Hundreds alive at once are all apart.
  enum { ALIVE = 300 };
  static MPI_Comm alive[ALIVE];
  static MPI_Request requests[2 * ALIVE];
  static int in[ALIVE], out[ALIVE];
  int right = (check_rank + 1) % size, left = (check_rank + size - 1) % size;
  for (int i = 0; i < ALIVE; i++) CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &alive[i]));
  for (int i = 0; i < ALIVE; i++) {
    out[i] = 1000 * i + check_rank;
    CHECK_OK(MPI_Isend(&out[i], 1, MPI_INT, right, 0, alive[i], &requests[i]));
  }
  for (int i = ALIVE - 1; i >= 0; i--) CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, left, 0, alive[i], &requests[ALIVE + i]));
  CHECK_OK(MPI_Waitall(2 * ALIVE, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < ALIVE; i++) {
    CHECK_EQUAL(in[i], 1000 * i + left);
    CHECK_OK(MPI_Comm_free(&alive[i]));
  }
  return check_end();
}
