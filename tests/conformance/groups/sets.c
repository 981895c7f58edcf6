// Groups as ordered sets: inclusion, exclusion, ranges, union, intersection, difference, comparison, translation.
// weft-test: part=one-worker
#include "check.h"

// Checks that a group consists of exactly these ranks of the world, in this order.
static void expect(int line, MPI_Group group, int count, const int *ranks) {
  MPI_Group world;
  int size = -1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &size);
  if (size != count) {
    fprintf(stderr, "sets.c:%d: rank %d: %d members, not %d\n", line, check_rank, size, count);
    check_failures++;
  } else {
    for (int i = 0; i < count; i++) {
      int there = -1;
      MPI_Group_translate_ranks(group, 1, &i, world, &there);
      if (there != ranks[i]) {
        fprintf(stderr, "sets.c:%d: rank %d: member %d is %d, not %d\n", line, check_rank, i, there, ranks[i]);
        check_failures++;
      }
    }
  }
  int me = MPI_UNDEFINED, mine = -77;
  for (int i = 0; i < count; i++)
    if (ranks[i] == check_rank) me = i;
  MPI_Group_rank(group, &mine);
  if (mine != me) {
    fprintf(stderr, "sets.c:%d: rank %d: rank in group %d, not %d\n", line, check_rank, mine, me);
    check_failures++;
  }
  MPI_Group_free(&world);
}
#define EXPECT(group, ...)                                                                           \
  do {                                                                                               \
    const int expected_ranks[] = {-1, ##__VA_ARGS__};                                                \
    expect(__LINE__, group, (int)(sizeof expected_ranks / sizeof(int)) - 1, expected_ranks + 1);     \
  } while (0)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Group world, a, b, c, d;
  int size, result = -1;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Group_size(world, &size));
  int world_size;
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK_EQUAL(size, world_size);
  int last = size - 1;

  CHECK_OK(MPI_Group_incl(world, 0, NULL, &a));
  CHECK(a == MPI_GROUP_EMPTY);
  CHECK_OK(MPI_Group_size(MPI_GROUP_EMPTY, &result));
  CHECK_EQUAL(result, 0);
  CHECK_OK(MPI_Group_rank(MPI_GROUP_EMPTY, &result));
  CHECK_EQUAL(result, MPI_UNDEFINED);
  CHECK_OK(MPI_Group_excl(world, 0, NULL, &a));
  CHECK_OK(MPI_Group_compare(world, a, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&a));
  CHECK(a == MPI_GROUP_NULL);

  // Reversed: the same members in another order.
  int *ranks = malloc(sizeof(int) * size);
  for (int i = 0; i < size; i++) ranks[i] = last - i;
  CHECK_OK(MPI_Group_incl(world, size, ranks, &a));
  expect(__LINE__, a, size, ranks);
  CHECK_OK(MPI_Group_compare(world, a, &result));
  CHECK_EQUAL(result, size == 1 ? MPI_IDENT : MPI_SIMILAR);
  int range[1][3] = {{last, 0, -1}};
  CHECK_OK(MPI_Group_range_incl(world, 1, range, &b));
  CHECK_OK(MPI_Group_compare(a, b, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&a), MPI_Group_free(&b);
  free(ranks);

  if (size >= 17) {
    int some[] = {3, 9, 1, 16}, others[] = {9, 5, 3, 0};
    CHECK_OK(MPI_Group_incl(world, 4, some, &a));
    CHECK_OK(MPI_Group_incl(world, 4, others, &b));
    EXPECT(a, 3, 9, 1, 16);
    CHECK_OK(MPI_Group_union(a, b, &c));
    EXPECT(c, 3, 9, 1, 16, 5, 0);
    MPI_Group_free(&c);
    CHECK_OK(MPI_Group_union(b, a, &c));
    EXPECT(c, 9, 5, 3, 0, 1, 16);
    CHECK_OK(MPI_Group_compare(b, c, &result));
    CHECK_EQUAL(result, MPI_UNEQUAL);
    MPI_Group_free(&c);
    CHECK_OK(MPI_Group_intersection(a, b, &c));
    EXPECT(c, 3, 9);
    MPI_Group_free(&c);
    CHECK_OK(MPI_Group_intersection(b, a, &c));
    EXPECT(c, 9, 3);
    CHECK_OK(MPI_Group_difference(a, b, &d));
    EXPECT(d, 1, 16);
    MPI_Group_free(&d);
    // A group of a group: ranks are those of the inner one.
    int inner[] = {1, 0};
    CHECK_OK(MPI_Group_incl(c, 2, inner, &d));
    EXPECT(d, 3, 9);
    MPI_Group_free(&d);
    CHECK_OK(MPI_Group_excl(a, 2, (int[]){2, 0}, &d));
    EXPECT(d, 9, 16);
    MPI_Group_free(&d);
    CHECK_OK(MPI_Group_difference(c, a, &d));
    CHECK(d == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_compare(d, MPI_GROUP_EMPTY, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_free(&c);
    int there[6];
    CHECK_OK(MPI_Group_translate_ranks(a, 5, (int[]){0, 1, 2, 3, MPI_PROC_NULL}, b, there));
    CHECK_EQUAL(there[0], 2);
    CHECK_EQUAL(there[1], 0);
    CHECK_EQUAL(there[2], MPI_UNDEFINED);
    CHECK_EQUAL(there[3], MPI_UNDEFINED);
    CHECK_EQUAL(there[4], MPI_PROC_NULL);
    int ranges[2][3] = {{0, 7, 3}, {16, 12, -2}};
    CHECK_OK(MPI_Group_range_incl(world, 2, ranges, &c));
    EXPECT(c, 0, 3, 6, 16, 14, 12);
    MPI_Group_free(&c);
    int out[2][3] = {{0, 12, 1}, {16, 15, -1}};
    CHECK_OK(MPI_Group_range_excl(world, 2, out, &c));
    if (size == 17) EXPECT(c, 13, 14);
    MPI_Group_free(&c);
    MPI_Group_free(&a), MPI_Group_free(&b);
  }
  CHECK_OK(MPI_Group_union(world, MPI_GROUP_EMPTY, &a));
  CHECK_OK(MPI_Group_compare(world, a, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&a);
  CHECK_OK(MPI_Group_difference(world, MPI_GROUP_EMPTY, &a));
  CHECK_OK(MPI_Group_compare(world, a, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&a);

  CHECK_CLASS(MPI_Group_incl(world, 1, (int[]){size}, &a), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_excl(world, 1, (int[]){-2}, &a), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &result), MPI_ERR_GROUP);
  CHECK(MPI_Group_range_incl(world, 1, (int[1][3]){{0, last, 0}}, &a) != MPI_SUCCESS);
  CHECK_OK(MPI_Group_free(&world));
  CHECK(world == MPI_GROUP_NULL);
  return check_end();
}
