// A message too long for a receive whose request was freed: no call can return the error, so it ends the job.
// weft-test: exit=nonzero ranks=1,2,17
// weft-test-output: freed the receive's request
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, size, in = 0, out[2] = {1, 2};
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request last;
  // What comes after the message on the same way is there after it.
  if (rank == size - 1) MPI_Irecv(&in, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, &last);
  if (rank == 0) {
    MPI_Send(out, 2, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    MPI_Send(out, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
  }
  if (rank == size - 1) MPI_Wait(&last, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
