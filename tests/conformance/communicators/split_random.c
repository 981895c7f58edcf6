// MPI_Comm_split against a plain model: random colors and keys, ties and extremes among them, also of what a split gave.
#include "check.h"
#include <limits.h>

enum { MOST = 64 };
static unsigned state;
static int draw(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)below);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 5u;
  state = seed;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int round = 0; round < 60; round++) {
    // Every rank draws the same numbers, so everybody knows what everybody passes.
    int color[MOST], key[MOST], colors = 1 + draw(size), keys = 1 + draw(4);
    static const int extremes[] = {INT_MIN, -1, 0, 1, INT_MAX};
    for (int r = 0; r < size; r++) {
      color[r] = draw(8) == 0 ? MPI_UNDEFINED : draw(5) == 0 ? INT_MAX : draw(colors);
      key[r] = draw(3) == 0 ? extremes[draw(5)] : draw(keys) - keys / 2;
    }
    // The parent: the world, or its ranks the other way round.
    MPI_Comm parent, part;
    int reversed = draw(2), me, n = 0, order[MOST];
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, reversed ? -check_rank : 0, &parent));
    MPI_Comm_rank(parent, &me);
    CHECK_EQUAL(me, reversed ? size - 1 - check_rank : check_rank);
    CHECK_OK(MPI_Comm_split(parent, color[check_rank], key[check_rank], &part));
    CHECK((part == MPI_COMM_NULL) == (color[check_rank] == MPI_UNDEFINED));
    if (part != MPI_COMM_NULL) {
      // Insertion by key; the parent's order breaks ties.
      for (int p = 0; p < size; p++) {
        int r = reversed ? size - 1 - p : p, at = n;
        if (color[r] != color[check_rank]) continue;
        while (at > 0 && key[order[at - 1]] > key[r]) order[at] = order[at - 1], at--;
        order[at] = r, n++;
      }
      MPI_Group group;
      int members;
      MPI_Comm_group(part, &group);
      MPI_Comm_size(part, &members);
      CHECK_EQUAL(members, n);
      for (int i = 0; i < n && members == n; i++) {
        int there;
        MPI_Group_translate_ranks(group, 1, &i, world, &there);
        CHECK_EQUAL(there, order[i]);
      }
      int sum = 0, expected = 0;
      for (int i = 0; i < n; i++) expected += order[i];
      CHECK_OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, part));
      CHECK_EQUAL(sum, expected);
      MPI_Group_free(&group);
      CHECK_OK(MPI_Comm_free(&part));
    }
    CHECK_OK(MPI_Comm_free(&parent));
  }
  if (check_failures) fprintf(stderr, "seed %u\n", seed);
  MPI_Group_free(&world);
  return check_end();
}
