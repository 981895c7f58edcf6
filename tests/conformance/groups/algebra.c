// Groups as ordered sets, against a plain model: random members in random order, all set operations, inclusion, exclusion,
// translation and comparison; groups of the library's own kinds of storage; handles that are not groups.
// weft-test: part=one-worker
#include "check.h"

enum { MOST = 32 };
typedef struct {
  int n, ranks[MOST];
} Set;

static int size;
static MPI_Group world;
static unsigned state;

static int draw(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)below);
}

static int position(const Set *set, int rank) {
  for (int i = 0; i < set->n; i++)
    if (set->ranks[i] == rank) return i;
  return MPI_UNDEFINED;
}

// Some ranks in some order: a progression now and then.
static Set choose(void) {
  Set set = {0};
  int kind = draw(3), stride = 1 + draw(3), first = draw(size);
  if (kind == 0) {
    for (int r = first; r < size; r += stride) set.ranks[set.n++] = r;
  } else if (kind == 1) {
    for (int r = first; r >= 0; r -= stride) set.ranks[set.n++] = r;
  } else {
    int wanted = draw(size + 1);
    while (set.n < wanted) {
      int rank = draw(size);
      if (position(&set, rank) == MPI_UNDEFINED) set.ranks[set.n++] = rank;
    }
  }
  return set;
}

static MPI_Group make(const Set *set) {
  MPI_Group group;
  CHECK_OK(MPI_Group_incl(world, set->n, set->ranks, &group));
  return group;
}

static void expect(MPI_Group group, const Set *set) {
  int n = -1, me = -77, there[MOST], all[MOST];
  CHECK_OK(MPI_Group_size(group, &n));
  CHECK_EQUAL(n, set->n);
  CHECK_OK(MPI_Group_rank(group, &me));
  CHECK_EQUAL(me, position(set, check_rank));
  CHECK((group == MPI_GROUP_EMPTY) == (set->n == 0));
  for (int i = 0; i < MOST; i++) all[i] = i;
  if (n == set->n) {
    CHECK_OK(MPI_Group_translate_ranks(group, n, all, world, there));
    for (int i = 0; i < n; i++) CHECK_EQUAL(there[i], set->ranks[i]);
    CHECK_OK(MPI_Group_translate_ranks(world, size, all, group, there));
    for (int i = 0; i < size; i++) CHECK_EQUAL(there[i], position(set, i));
  }
}

static void drop(MPI_Group *group) {
  CHECK_OK(MPI_Group_free(group));
  CHECK(*group == MPI_GROUP_NULL);
}

static void operate(void) {
  Set a = choose(), b = choose(), united = a, common = {0}, rest = {0}, kept = {0}, picked = {0};
  MPI_Group ga = make(&a), gb = make(&b), result;
  expect(ga, &a), expect(gb, &b);
  for (int i = 0; i < b.n; i++)
    if (position(&a, b.ranks[i]) == MPI_UNDEFINED) united.ranks[united.n++] = b.ranks[i];
  for (int i = 0; i < a.n; i++) {
    Set *into = position(&b, a.ranks[i]) == MPI_UNDEFINED ? &rest : &common;
    into->ranks[into->n++] = a.ranks[i];
  }
  CHECK_OK(MPI_Group_union(ga, gb, &result));
  expect(result, &united), drop(&result);
  CHECK_OK(MPI_Group_intersection(ga, gb, &result));
  expect(result, &common), drop(&result);
  CHECK_OK(MPI_Group_difference(ga, gb, &result));
  expect(result, &rest), drop(&result);
  // Members by their places in a.
  int places[MOST], n = 0;
  for (int i = a.n - 1; i >= 0; i--)
    if (draw(2)) places[n++] = i;
  for (int i = 0; i < n; i++) picked.ranks[picked.n++] = a.ranks[places[i]];
  for (int i = 0; i < a.n; i++)
    if (position(&picked, a.ranks[i]) == MPI_UNDEFINED) kept.ranks[kept.n++] = a.ranks[i];
  CHECK_OK(MPI_Group_incl(ga, n, places, &result));
  expect(result, &picked), drop(&result);
  CHECK_OK(MPI_Group_excl(ga, n, places, &result));
  expect(result, &kept), drop(&result);
  // Comparison, and translation between the two.
  int same = a.n == b.n, ordered = same, compared, translated[MOST], all[MOST];
  for (int i = 0; i < a.n && same; i++) {
    same = position(&b, a.ranks[i]) != MPI_UNDEFINED;
    ordered = ordered && b.ranks[i] == a.ranks[i];
  }
  CHECK_OK(MPI_Group_compare(ga, gb, &compared));
  CHECK_EQUAL(compared, same ? ordered ? MPI_IDENT : MPI_SIMILAR : MPI_UNEQUAL);
  for (int i = 0; i < a.n; i++) all[i] = i;
  all[a.n] = MPI_PROC_NULL;
  CHECK_OK(MPI_Group_translate_ranks(ga, a.n + 1, all, gb, translated));
  for (int i = 0; i < a.n; i++) CHECK_EQUAL(translated[i], position(&b, a.ranks[i]));
  CHECK_EQUAL(translated[a.n], MPI_PROC_NULL);
  drop(&ga), drop(&gb);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 20261u;
  state = seed;
  for (int round = 0; round < 300; round++) operate();
  if (check_failures) fprintf(stderr, "seed %u\n", seed);

  // What is wrong.
  MPI_Group group = MPI_GROUP_NULL, freed;
  int ranks[2] = {0, 0}, there, result;
  CHECK_CLASS(MPI_Group_incl(world, 2, ranks, &group), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_excl(world, 2, ranks, &group), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, -1, ranks, &group), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_incl(world, 1, NULL, &group), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_incl(MPI_GROUP_EMPTY, 1, ranks, &group), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, 1, (int[]){MPI_PROC_NULL}, &group), MPI_ERR_RANK);
  CHECK(group == MPI_GROUP_NULL);
  CHECK_CLASS(MPI_Group_translate_ranks(world, 1, (int[]){size}, world, &there), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_translate_ranks(world, 1, (int[]){MPI_UNDEFINED}, world, &there), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_translate_ranks(world, 1, (int[]){MPI_ANY_SOURCE}, world, &there), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_translate_ranks(world, -1, ranks, world, &there), MPI_ERR_ARG);
  CHECK_OK(MPI_Group_translate_ranks(world, 0, NULL, world, NULL));
  CHECK_OK(MPI_Group_translate_ranks(MPI_GROUP_EMPTY, 1, (int[]){MPI_PROC_NULL}, world, &there));
  CHECK_EQUAL(there, MPI_PROC_NULL);
  CHECK_OK(MPI_Group_incl(world, 1, ranks, &group));
  freed = group;
  CHECK_OK(MPI_Group_free(&group));
  CHECK_CLASS(MPI_Group_free(&group), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_free(&freed), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_size(freed, &there), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_rank(MPI_GROUP_NULL, &there), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_compare(world, MPI_GROUP_NULL, &result), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_compare(freed, world, &result), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_union(world, MPI_GROUP_NULL, &group), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_intersection(MPI_GROUP_NULL, world, &group), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_difference(freed, world, &group), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_group(MPI_COMM_NULL, &group), MPI_ERR_COMM);

  // A communicator outlives the group it was made from, and a group the communicator it was taken from.
  MPI_Comm comm;
  int n;
  int everybody[MOST];
  for (int i = 0; i < MOST; i++) everybody[i] = i;
  CHECK_OK(MPI_Group_incl(world, size, everybody, &group));
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_size(comm, &n));
  CHECK_EQUAL(n, size);
  CHECK_OK(MPI_Comm_group(comm, &group));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Group_compare(group, world, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Group_free(&world));
  return check_end();
}
