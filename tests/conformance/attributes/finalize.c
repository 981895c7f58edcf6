// Attributes of MPI_COMM_SELF are deleted first thing in MPI_Finalize, in the reverse order of setting, while MPI still
// works: hooks at the end of the library.
// weft-test: faults=yes
// weft-test-output: all hooks have run
#include "check.h"

static int key[4], ran, size;

static int hook(MPI_Comm comm, int keyval, void *value, void *extra) {
  int initialized, finalized, rank, sum = 0, one = 1;
  (void)extra;
  CHECK(comm == MPI_COMM_SELF);
  // Set in the order 0 1 2 3, then 1 again: that one is the last.
  static const int order[] = {1, 3, 2, 0};
  CHECK_EQUAL((int)(MPI_Aint)value, order[ran]);
  CHECK_EQUAL(keyval, key[order[ran]]);
  ran++;
  CHECK_OK(MPI_Initialized(&initialized));
  CHECK_OK(MPI_Finalized(&finalized));
  CHECK(initialized && !finalized);
  // Everything works, also among all ranks, because all of them run their hooks.
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_EQUAL(rank, check_rank);
  CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(sum, size);
  MPI_Comm comm2;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm2));
  CHECK_OK(MPI_Comm_free(&comm2));
  if (ran == 4) {
    int all = 0;
    MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all) MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 0) printf("all hooks have run\n"), fflush(stdout);
  }
  return MPI_SUCCESS;
}

static int replaced(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value;
  ++*(int *)extra;
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int plain, count = 0;
  for (int i = 0; i < 4; i++) {
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, i == 1 ? replaced : hook, &key[i], &count));
    if (i == 1) {
      // Its first value goes when it is set again, by the function of a key that is freed then.
      CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key[i], NULL));
      CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key[i]));
      CHECK_EQUAL(count, 1);
      CHECK_OK(MPI_Comm_free_keyval(&key[i]));
      CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, hook, &key[i], &count));
    }
  }
  for (int i = 0; i < 4; i++)
    if (i != 1) CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key[i], (void *)(MPI_Aint)i));
  CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key[1], (void *)(MPI_Aint)1));
  // Keys may be freed before; attributes without a function, and those of other communicators, do not matter.
  int kept = key[3];
  CHECK_OK(MPI_Comm_free_keyval(&key[3]));
  key[3] = kept;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
  CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, plain, &count));
  MPI_Finalize();
  return ran != 4 || check_failures;
}
