// Info keys choose the algorithms of a communicator's collectives, and of one persistent request: whichever is chosen,
// results are right; MPI_Comm_get_info tells what is in use; what makes no sense is ignored; ranks of one process that give
// different hints do not choose differently.
// weft-test: ranks=1,2,3,4,17
#include "check.h"

static int size, rank;

static const char *const reductions[] = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter_block"};

static MPI_Info make(const char *key, const char *value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

static int has(MPI_Comm comm, const char *key, const char *value) {
  MPI_Info used;
  char found[128] = "";
  int length = sizeof found, flag = 0;
  CHECK_OK(MPI_Comm_get_info(comm, &used));
  MPI_Info_get_string(used, key, &length, found, &flag);
  MPI_Info_free(&used);
  return value ? flag && strcmp(found, value) == 0 : !flag;
}

// Broadcasts, reduces and scans some sizes on both sides of every threshold.
static void compute(MPI_Comm comm) {
  static const int counts[] = {1, 15, 300, 3000};
  static int mine[3000], result[3000];
  for (int which = 0; which < 4; which++) {
    int count = counts[which], root = which % size;
    for (int i = 0; i < count; i++) mine[i] = rank == root ? i + which : -1;
    CHECK_OK(MPI_Bcast(mine, count, MPI_INT, root, comm));
    for (int i = 0; i < count; i++) CHECK_EQUAL(mine[i], i + which);
    for (int i = 0; i < count; i++) mine[i] = rank + i;
    CHECK_OK(MPI_Allreduce(mine, result, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) CHECK_EQUAL(result[i], size * (size - 1) / 2 + size * i);
    CHECK_OK(MPI_Scan(mine, result, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; i++) CHECK_EQUAL(result[i], (rank + 1) * rank / 2 + (rank + 1) * i);
    int *all = malloc(sizeof(int) * count * size);
    CHECK_OK(MPI_Allgather(mine, count, MPI_INT, all, count, MPI_INT, comm));
    for (int r = 0; r < size; r++)
      for (int i = 0; i < count; i++) CHECK_EQUAL(all[r * count + i], r + i);
    free(all);
  }
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  // Every algorithm, given in each call that takes hints.
  static const char *const values[] = {"in-place", "slots", "schedule", "in-place; slots @-40; schedule @1K-4K ranks=3-"};
  static const char *const trees[] = {"chain segment=1K", "flat", "binomial", "binary; chain segment=4K @1K-"};
  for (int which = 0; which < 4; which++) {
    MPI_Comm comm, nonblocking;
    MPI_Request request;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "weft_bcast_algorithm", values[which]);
    MPI_Info_set(info, "weft_allgather_algorithm", values[which]);
    MPI_Info_set(info, "weft_bcast_nodes_algorithm", trees[which]);
    MPI_Info_set(info, "weft_allreduce_nodes_algorithm", trees[which]);
    for (int i = 0; i < 5; i++) {
      char key[64];
      snprintf(key, sizeof key, "weft_%s_algorithm", reductions[i]);
      MPI_Info_set(info, key, values[which]);
    }
    CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CHECK(has(comm, "weft_bcast_algorithm", values[which]));
    CHECK(has(comm, "weft_exscan_algorithm", values[which]));
    CHECK(has(comm, "weft_bcast_nodes_algorithm", trees[which]));
    CHECK(has(MPI_COMM_WORLD, "weft_bcast_algorithm", NULL));
    compute(comm);
    CHECK_OK(MPI_Comm_idup_with_info(comm, info, &nonblocking, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(has(nonblocking, "weft_allgather_algorithm", values[which]));
    compute(nonblocking);
    CHECK_OK(MPI_Comm_free(&nonblocking));
    // A change of one key leaves the others; what makes no sense changes nothing.
    MPI_Info change = make("weft_bcast_algorithm", "slots @-1K");
    MPI_Info_set(change, "weft_scan_algorithm", "fastest");
    MPI_Info_set(change, "weft_sendrecv_algorithm", "slots");
    CHECK_OK(MPI_Comm_set_info(comm, change));
    CHECK(has(comm, "weft_bcast_algorithm", "slots @-1K"));
    CHECK(has(comm, "weft_scan_algorithm", values[which]));
    CHECK(has(comm, "weft_sendrecv_algorithm", NULL));
    compute(comm);
    MPI_Info_free(&change);
    CHECK_OK(MPI_Comm_free(&comm));
    MPI_Info_free(&info);
  }

  // Ranks that give different hints, against the standard, agree all the same; ranks run ahead of each other.
  MPI_Comm differing;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &differing);
  int near, me;
  MPI_Comm_size(differing, &near), MPI_Comm_rank(differing, &me);
  for (int round = 0; round < 20; round++) {
    MPI_Info info = make("weft_allreduce_algorithm", (rank + round) % 3 ? "in-place" : "schedule");
    MPI_Info_set(info, "weft_bcast_algorithm", (rank + round) % 2 ? "schedule" : "slots");
    CHECK_OK(MPI_Comm_set_info(differing, info));
    MPI_Info_free(&info);
    int value = round, sum = 0;
    CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, round % near, differing));
    CHECK_EQUAL(value, round);
    CHECK_OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, differing));
    CHECK_EQUAL(sum, near * (near - 1) / 2);
  }
  CHECK_OK(MPI_Comm_free(&differing));

  // Hints of one request.
  for (int which = 0; which < 4; which++) {
    static int value[1000], sum[1000];
    MPI_Info info = make("weft_allreduce_algorithm", values[which]);
    MPI_Info_set(info, "weft_allreduce_nodes_algorithm", trees[which]);
    MPI_Request request;
    CHECK_OK(MPI_Allreduce_init(value, sum, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, &request));
    MPI_Info_free(&info);
    for (int start = 0; start < 3; start++) {
      for (int i = 0; i < 1000; i++) value[i] = rank + i * start;
      CHECK_OK(MPI_Start(&request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      for (int i = 0; i < 1000; i++) CHECK_EQUAL(sum[i], size * (size - 1) / 2 + size * i * start);
    }
    CHECK_OK(MPI_Request_free(&request));
    CHECK(has(MPI_COMM_WORLD, "weft_allreduce_algorithm", NULL));
  }
  return check_end();
}
