// What a program learns about hosts must agree: names, and the communicators of the ranks that share a host. With an
// argument each rank is a process of its own, which shares no memory with others in the sense of MPI.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };
static char name[MPI_MAX_PROCESSOR_NAME], all[MOST][MPI_MAX_PROCESSOR_NAME];

// Returns the info that asks for a type of resource.
static MPI_Info resource(const char *type) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", type);
  return info;
}

// Splits the world; returns whether the part has not so many members, or one of another host.
static int is_wrong(int type, MPI_Info info, int expected) {
  MPI_Comm part;
  int rank, members = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, type, rank, info, &part);
  if (part != MPI_COMM_NULL) {
    char theirs[MOST][MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_size(part, &members);
    MPI_Allgather(name, sizeof name, MPI_CHAR, theirs, sizeof name, MPI_CHAR, part);
    for (int i = 0; i < members; i++) wrong |= strcmp(name, theirs[i]) != 0;
    MPI_Comm_free(&part);
  }
  if (members != expected) printf("rank %d on %s: %d members of type %d, not %d\n", rank, name, members, type, expected);
  return wrong || members != expected;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length, names = 0, here = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  MPI_Allgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) {
    int known = 0;
    for (int j = 0; j < i; j++) known |= !strcmp(all[i], all[j]);
    names += !known;
    here += !strcmp(all[i], name);
  }
  MPI_Info memory = resource("mpi_shared_memory"), machine = resource("hwloc://Machine"), found = resource("none");
  wrong += is_wrong(MPI_COMM_TYPE_SHARED, MPI_INFO_NULL, here);
  wrong += is_wrong(MPI_COMM_TYPE_HW_GUIDED, memory, here);
  wrong += is_wrong(MPI_COMM_TYPE_HW_GUIDED, machine, here);
  wrong += is_wrong(MPI_COMM_TYPE_RESOURCE_GUIDED, machine, here);
  if (names > 1) {
    // The outermost type that splits the world is the host.
    char type[64] = "";
    int flag, room = sizeof type;
    wrong += is_wrong(MPI_COMM_TYPE_HW_UNGUIDED, found, here);
    MPI_Info_get_string(found, "mpi_hw_resource_type", &room, type, &flag);
    wrong += strcmp(type, "hwloc://Machine") != 0;
  }
  MPI_Info_free(&memory), MPI_Info_free(&machine), MPI_Info_free(&found);
  int all_wrong;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d names\n", names);
  MPI_Finalize();
  return all_wrong != 0;
}
