// The attributes the library attaches: their values, that they stay as they are, and that nobody can change them.
#include "check.h"

static int value_of(MPI_Comm comm, int keyval, int *flag) {
  int *value = NULL;
  CHECK_OK(MPI_Comm_get_attr(comm, keyval, &value, flag));
  CHECK(!*flag || value != NULL);
  return *flag ? *value : 0;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int flag, size, keys[] = {MPI_TAG_UB, MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int upper = value_of(MPI_COMM_WORLD, MPI_TAG_UB, &flag);
  CHECK(flag && upper >= 32767);
  // The bound is a bound: that tag works, and one more cannot be asked for with an int if it is the largest.
  int token = check_rank, got = -1;
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv(&token, 1, MPI_INT, 0, upper, &got, 1, MPI_INT, 0, upper, MPI_COMM_SELF, &status));
  CHECK(got == check_rank && status.MPI_TAG == upper);
  int least = upper, most = upper;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_EQUAL(least, most);
  int io = value_of(MPI_COMM_WORLD, MPI_IO, &flag);
  CHECK(flag && (io == MPI_ANY_SOURCE || io == MPI_PROC_NULL || (io >= 0 && io < size)));
  int global = value_of(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &flag);
  CHECK(!flag || global == 0 || global == 1);
  int universe = value_of(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &flag);
  CHECK(!flag || universe >= size);
  int application = value_of(MPI_COMM_WORLD, MPI_APPNUM, &flag);
  CHECK(!flag || application == 0);

  // The last code follows what the program adds and removes.
  int class, code, last = value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &flag);
  CHECK(flag && last >= MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Add_error_class(&class));
  CHECK(value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &flag) >= class);
  CHECK_OK(MPI_Add_error_code(class, &code));
  CHECK(value_of(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &flag) >= code);

  // They cannot be set, deleted or freed, and asking changes nothing.
  for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
    int key = keys[i], before = value_of(MPI_COMM_WORLD, key, &flag), there = flag;
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &token), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    CHECK_EQUAL(key, keys[i]);
    int after = value_of(MPI_COMM_WORLD, key, &flag);
    CHECK(flag == there && after == before);
  }
  return check_end();
}
