// Ranges of ranks: the same as the ranks they stand for, in either direction, at every stride; what is refused.
// weft-test: part=one-worker
#include "check.h"

static int size;
static MPI_Group world;

// Checks range_incl and range_excl of one triplet against the expanded list.
static void check(int first, int last, int stride) {
  int *ranks = malloc(sizeof(int) * (size + 1)), n = 0, result;
  for (int r = first; stride > 0 ? r <= last : r >= last; r += stride) ranks[n++] = r;
  MPI_Group by_range, by_list;
  int range[1][3] = {{first, last, stride}};
  CHECK_OK(MPI_Group_range_incl(world, 1, range, &by_range));
  CHECK_OK(MPI_Group_incl(world, n, ranks, &by_list));
  CHECK_OK(MPI_Group_compare(by_range, by_list, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&by_range), MPI_Group_free(&by_list);
  CHECK_OK(MPI_Group_range_excl(world, 1, range, &by_range));
  CHECK_OK(MPI_Group_excl(world, n, ranks, &by_list));
  CHECK_OK(MPI_Group_compare(by_range, by_list, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  // Excluding keeps the order of the group, whatever the direction of the range.
  int members, previous = -1;
  MPI_Group_size(by_range, &members);
  CHECK_EQUAL(members, size - n);
  for (int i = 0; i < members; i++) {
    int there;
    MPI_Group_translate_ranks(by_range, 1, &i, world, &there);
    CHECK(there > previous);
    previous = there;
  }
  MPI_Group_free(&by_range), MPI_Group_free(&by_list);
  free(ranks);
}

static void refuse(int n, int ranges[][3], int class) {
  MPI_Group group = MPI_GROUP_NULL;
  CHECK_CLASS(MPI_Group_range_incl(world, n, ranges, &group), class);
  CHECK_CLASS(MPI_Group_range_excl(world, n, ranges, &group), class);
  CHECK(group == MPI_GROUP_NULL);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int first = 0; first < size; first++)
    for (int last = 0; last < size; last++)
      for (int stride = 1; stride <= size + 1; stride++) {
        if (last >= first) check(first, last, stride);
        if (last <= first) check(first, last, -stride);
      }
  // The last rank need not be hit, or exist.
  check(0, size + 3, size + 4);
  check(size - 1, -5, -(size + 6));
  // Several ranges; none.
  MPI_Group group, other;
  int result, top = size - 1;
  if (size >= 4) {
    CHECK_OK(MPI_Group_range_incl(world, 3, (int[3][3]){{top, top, 1}, {0, 1, 1}, {2, 2, -7}}, &group));
    CHECK_OK(MPI_Group_incl(world, 4 - (top == 2), (int[]){top, 0, 1, 2}, &other));
    CHECK_OK(MPI_Group_compare(group, other, &result));
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Group_free(&group), MPI_Group_free(&other);
  }
  CHECK_OK(MPI_Group_range_incl(world, 0, NULL, &group));
  CHECK(group == MPI_GROUP_EMPTY);
  CHECK_OK(MPI_Group_range_excl(world, 0, NULL, &group));
  CHECK_OK(MPI_Group_compare(world, group, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&group);
  CHECK_OK(MPI_Group_range_excl(world, 1, (int[1][3]){{0, top, 1}}, &group));
  CHECK(group == MPI_GROUP_EMPTY);

  refuse(1, (int[1][3]){{0, 0, 0}}, MPI_ERR_ARG);
  refuse(1, (int[1][3]){{0, top + 1, 1}}, MPI_ERR_RANK);
  refuse(1, (int[1][3]){{-1, top, 1}}, MPI_ERR_RANK);
  refuse(1, (int[1][3]){{top, -1, -1}}, MPI_ERR_RANK);
  // Far too many to write down.
  refuse(1, (int[1][3]){{0, 2147483647, 1}}, MPI_ERR_RANK);
  refuse(1, (int[1][3]){{-2147483647, 2147483647, 1}}, MPI_ERR_RANK);
  refuse(1, (int[1][3]){{2147483647, -2147483647, -1}}, MPI_ERR_RANK);
  if (size > 1) {
    refuse(1, (int[1][3]){{0, 1, -1}}, MPI_ERR_ARG);
    refuse(1, (int[1][3]){{1, 0, 1}}, MPI_ERR_ARG);
  }
  // Twice the same rank.
  refuse(2, (int[2][3]){{0, top, 1}, {0, 0, 1}}, MPI_ERR_RANK);
  refuse(-1, (int[1][3]){{0, 0, 1}}, MPI_ERR_ARG);
  refuse(1, NULL, MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_range_incl(MPI_GROUP_NULL, 1, (int[1][3]){{0, 0, 1}}, &group), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_range_incl(MPI_GROUP_EMPTY, 1, (int[1][3]){{0, 0, 1}}, &group), MPI_ERR_RANK);
  MPI_Group_free(&world);
  return check_end();
}
