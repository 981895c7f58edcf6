// Wrong calls that end the job: what the report must say is in `FATAL` of tests/errors/run.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *scenario = argc > 1 ? argv[1] : "";
  int rank, size, value[4] = {0};
  MPI_Comm comm;
  MPI_Request request;
  if (!strcmp(scenario, "before")) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (!strcmp(scenario, "named")) {
    MPI_Comm_set_name(comm, "lattice");
    if (rank == size - 1) MPI_Send(value, 1, MPI_INT, 99, 0, comm);
  } else if (!strcmp(scenario, "unnamed")) {
    if (rank == 0) MPI_Bcast(value, -3, MPI_INT, 0, comm);
  } else if (!strcmp(scenario, "abort")) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT);
    if (rank == 0) MPI_Recv(value, 1, MPI_INT, 0, -9, comm, MPI_STATUS_IGNORE);
  } else if (!strcmp(scenario, "request")) {
    // The operation's communicator decides, though the call that reports its error names none.
    MPI_Comm_set_name(comm, "halo");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Irecv(value, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Send(value, 4, MPI_INT, rank, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!strcmp(scenario, "null")) {
    if (rank == 0) MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
  } else if (!strcmp(scenario, "raised")) {
    // A program hands a code on: the report tells what was wrong in the first place.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(value, 1, MPI_INT, 0, -4, MPI_COMM_WORLD);
    MPI_Comm_call_errhandler(comm, code);
  }
  if (strcmp(scenario, "after")) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (!strcmp(scenario, "after")) MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (!strcmp(scenario, "twice")) MPI_Finalize();
  if (!strcmp(scenario, "again")) MPI_Init(&argc, &argv);
  return 0;
}
