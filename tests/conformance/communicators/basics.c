// Rank, size, comparison, duplication, freeing; messages on different communicators never meet.
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, result = -1, flag = -1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm dup, self;
  CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
  CHECK_EQUAL(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, dup, &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_test_inter(dup, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
  CHECK_OK(MPI_Comm_size(self, &result));
  CHECK_EQUAL(result, 1);
  CHECK_OK(MPI_Comm_free(&self));
  CHECK(self == MPI_COMM_NULL);

  // The same source, destination and tag on two communicators: each receive gets its own.
  int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;
  int one = 1000 + check_rank, two = 2000 + check_rank, a = -1, b = -1;
  MPI_Request requests[2];
  CHECK_OK(MPI_Isend(&one, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(MPI_Isend(&two, 1, MPI_INT, next, 5, dup, &requests[1]));
  CHECK_OK(MPI_Recv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQUAL(a, 1000 + previous);
  CHECK_EQUAL(b, 2000 + previous);

  // A communicator may be freed while a receive on it is pending.
  MPI_Request late;
  int value = -1, mine = 7 * check_rank;
  CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, previous, 6, dup, &late));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Send(&mine, 1, MPI_INT, next, 6, dup));
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Wait(&late, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, 7 * previous);

  // Many generations, so that numbers are used again.
  for (int i = 0; i < 300; i++) {
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    int sum = 0, bit = 1;
    CHECK_OK(MPI_Allreduce(&bit, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQUAL(sum, size);
    CHECK_OK(MPI_Comm_free(&comm));
  }
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_NULL, &result), MPI_ERR_COMM);
  CHECK(MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}) != MPI_SUCCESS);
  return check_end();
}
