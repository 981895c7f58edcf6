// MPI_Finalize when a delete function of MPI_COMM_SELF fails: it returns that function's code, and MPI is finalized all the
// same, so that nobody waits for ever.
// weft-test: faults=yes
#include "check.h"

static int ran;

static int fails(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  ran++;
  return (int)(MPI_Aint)value;
}

int main(int argc, char **argv) {
  int keys[3], finalized = 0;
  check_init(&argc, &argv);
  for (int i = 0; i < 3; i++) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fails, &keys[i], NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], (void *)(MPI_Aint)MPI_SUCCESS);
  // The one that was set last runs first; every other rank succeeds.
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], (void *)(MPI_Aint)(check_rank % 2 ? MPI_SUCCESS : MPI_ERR_INTERN));
  MPI_Comm_set_attr(MPI_COMM_SELF, keys[2], (void *)(MPI_Aint)(check_rank % 2 ? MPI_SUCCESS : MPI_ERR_DIMS));
  int code = MPI_Finalize();
  MPI_Finalized(&finalized);
  int wanted = check_rank % 2 ? MPI_SUCCESS : MPI_ERR_DIMS;
  if (code != wanted || !finalized || ran != 3) {
    fprintf(stderr, "rank %d: MPI_Finalize returns %d, not %d; finalized %d; %d functions ran\n", check_rank, code, wanted,
            finalized, ran);
    return 1;
  }
  return check_failures != 0;
}
