// Communicators of a host's ranks and the names of hosts must agree with each other.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length, names = 0, bad = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[MPI_MAX_PROCESSOR_NAME] = "", all[64][MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) {
    int known = 0;
    for (int j = 0; j < i; j++) known |= !strcmp(all[i], all[j]);
    names += !known;
  }
  MPI_Comm part;
  for (int kind = 0; kind < 2; kind++) {
    MPI_Comm_split_type(MPI_COMM_WORLD, kind ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
    if (part == MPI_COMM_NULL) continue;
    int members, mine;
    char theirs[64][MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_size(part, &members);
    MPI_Comm_rank(part, &mine);
    MPI_Allgather(name, sizeof name, MPI_CHAR, theirs, sizeof name, MPI_CHAR, part);
    for (int i = 0; i < members; i++) bad += strcmp(name, theirs[i]) != 0;
    MPI_Comm_free(&part);
  }
  int all_bad;
  MPI_Allreduce(&bad, &all_bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d names\n", names);
  MPI_Finalize();
  return all_bad != 0;
}
