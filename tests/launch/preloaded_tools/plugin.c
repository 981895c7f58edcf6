// A plugin that sends.
#include <mpi.h>
int send_one(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  return MPI_Send(buffer, count, type, target, tag, comm);
}
