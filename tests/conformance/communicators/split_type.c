// MPI_Comm_split_type in all its kinds, and MPI_Get_hw_resource_info.
#include "check.h"

static int size;

// Checks that a part is ordered by key and that its ranks agree; returns its size.
static int check_part(MPI_Comm part, int descending) {
  int n, rank, previous = -1;
  MPI_Comm_size(part, &n), MPI_Comm_rank(part, &rank);
  int *ranks = malloc(sizeof(int) * n);
  CHECK_OK(MPI_Allgather(&check_rank, 1, MPI_INT, ranks, 1, MPI_INT, part));
  CHECK_EQUAL(ranks[rank], check_rank);
  for (int i = 0; i < n; i++) {
    CHECK(i == 0 || (descending ? ranks[i] < previous : ranks[i] > previous));
    previous = ranks[i];
  }
  free(ranks);
  return n;
}

static void set(MPI_Info *info, const char *key, const char *value) {
  MPI_Info_create(info);
  MPI_Info_set(*info, key, value);
}

static void get(MPI_Info info, const char *key, char *value, int room, int *flag) {
  int length = room;
  value[0] = 0;
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, flag));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int flag, n, keys, result;
  char key[MPI_MAX_INFO_KEY], value[64];
  MPI_Comm shared, part, again;
  MPI_Info info, resources;
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  // Shared memory: by any of the three names, ordered by key.
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -check_rank, MPI_INFO_NULL, &shared));
  CHECK(shared != MPI_COMM_NULL);
  int together = check_part(shared, 1);
  // Who shares memory is on one machine, where others may be, too.
  set(&info, "mpi_hw_resource_type", "hwloc://Machine");
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
  CHECK(part != MPI_COMM_NULL);
  int machine = check_part(part, 0);
  CHECK(together <= machine);
  CHECK_OK(MPI_Comm_free(&part));
  MPI_Info_free(&info);
  set(&info, "mpi_hw_resource_type", "mpi_shared_memory");
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, i ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_RESOURCE_GUIDED, -check_rank, info, &part));
    CHECK(part != MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_compare(shared, part, &result));
    CHECK_EQUAL(result, MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_free(&part));
  }
  MPI_Info_free(&info);
  // Some ranks take no part.
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, check_rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
  CHECK((part == MPI_COMM_NULL) == (check_rank == 0));
  if (part != MPI_COMM_NULL) {
    check_part(part, 0);
    MPI_Comm_free(&part);
  }
  CHECK_OK(MPI_Comm_free(&shared));

  // The resources this rank knows of: URIs with true or false; one it is restricted to gives a communicator of all ranks
  // that are restricted to the same one, a larger one at least as many.
  CHECK_OK(MPI_Get_hw_resource_info(&resources));
  CHECK_OK(MPI_Info_get_nkeys(resources, &keys));
  CHECK(keys >= 3);
  // The ranks of one job on one machine see the same types in the same order; the values are their own.
  for (int i = 0; i < keys; i++) {
    CHECK_OK(MPI_Info_get_nthkey(resources, i, key));
    CHECK(strstr(key, "://") != NULL && strncmp(key, "mpi://", 6) != 0);
    get(resources, key, value, sizeof value, &flag);
    CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
    int restricted = strcmp(value, "true") == 0;
    set(&info, "mpi_hw_resource_type", key);
    int sizes[2] = {0, 0};
    for (int guided = 0; guided < 2; guided++) {
      CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, guided ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
      CHECK((part != MPI_COMM_NULL) == restricted);
      if (part == MPI_COMM_NULL) continue;
      sizes[guided] = check_part(part, 0);
      CHECK(sizes[guided] <= machine);
      // Inside, it is the same again.
      CHECK_OK(MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_GUIDED, 0, info, &again));
      CHECK_OK(MPI_Comm_compare(part, again, &result));
      CHECK_EQUAL(result, MPI_CONGRUENT);
      MPI_Comm_free(&again), MPI_Comm_free(&part);
    }
    CHECK_EQUAL(sizes[0], sizes[1]);
    if (strcmp(key, "hwloc://Machine") == 0) CHECK(restricted && sizes[0] == machine);
    MPI_Info_free(&info);
  }
  MPI_Info_free(&resources);

  // No info, no key, an unknown value: no communicator.
  for (int i = 0; i < 2; i++) {
    int type = i ? MPI_COMM_TYPE_HW_GUIDED : MPI_COMM_TYPE_RESOURCE_GUIDED;
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part));
    CHECK(part == MPI_COMM_NULL);
    set(&info, "colour", "hwloc://Machine");
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Spaceship");
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    MPI_Info_free(&info);
  }
  // A process set names nothing in a communicator that does not come from a session; two keys are one too many.
  set(&info, "mpi_pset_name", "mpi://WORLD");
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
  CHECK(part == MPI_COMM_NULL);
  MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Machine");
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part), MPI_ERR_INFO);
  MPI_Info_free(&info);

  // Unguided: strict subsets, again and again until there are none; the info says which type of resource it was.
  MPI_Comm level;
  int depth = 0, above = size;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &level));
  for (;;) {
    MPI_Info_create(&info);
    CHECK_OK(MPI_Comm_split_type(level, MPI_COMM_TYPE_HW_UNGUIDED, depth & 1 ? -check_rank : 0, info, &part));
    get(info, "mpi_hw_resource_type", value, sizeof value, &flag);
    CHECK_EQUAL(flag, part != MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_free(&level));
    if (part == MPI_COMM_NULL) break;
    n = check_part(part, depth & 1);
    CHECK(n < above);
    above = n;
    // All its ranks were told the same type, and splitting by that type again splits nothing.
    char first[64];
    memcpy(first, value, sizeof first);
    CHECK_OK(MPI_Bcast(first, sizeof first, MPI_CHAR, 0, part));
    CHECK(strcmp(first, value) == 0);
    CHECK_OK(MPI_Comm_split_type(part, MPI_COMM_TYPE_HW_GUIDED, depth & 1 ? -check_rank : 0, info, &again));
    CHECK(again != MPI_COMM_NULL);
    if (again != MPI_COMM_NULL) {
      CHECK_OK(MPI_Comm_compare(part, again, &result));
      CHECK_EQUAL(result, MPI_CONGRUENT);
      MPI_Comm_free(&again);
    }
    MPI_Info_free(&info);
    level = part;
    depth++;
  }
  MPI_Info_free(&info);
  // One rank alone has no strict subset.
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_SELF, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part));
  CHECK(part == MPI_COMM_NULL);

  // Ranks that want different things are told so.
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part));
  CHECK(part == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &part), MPI_ERR_ARG);
  if (size > 1) {
    int type = check_rank ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_UNGUIDED;
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part), MPI_ERR_ARG);
    set(&info, "mpi_hw_resource_type", check_rank ? "hwloc://Core" : "hwloc://Machine");
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part), MPI_ERR_INFO_VALUE);
    MPI_Info_free(&info);
  }
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_NULL, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part), MPI_ERR_COMM);
  return check_end();
}
