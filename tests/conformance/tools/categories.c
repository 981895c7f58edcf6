// Every variable and every event is in a category that lists it; categories stay as they are.
// weft-test: faults=yes
#include "check.h"

enum { MOST = 400 };
static int seen[3][MOST];

static int list(int kind, int category, int length, int found[]) {
  return kind == 0   ? MPI_T_category_get_cvars(category, length, found)
         : kind == 1 ? MPI_T_category_get_pvars(category, length, found)
                     : MPI_T_category_get_events(category, length, found);
}

static void members(int category, int kind, int expected) {
  int found[MOST], some[MOST];
  for (int i = 0; i < MOST; i++) found[i] = some[i] = -7;
  CHECK_OK(list(kind, category, MOST, found));
  for (int i = 0; i < MOST; i++) {
    CHECK((i < expected) == (found[i] != -7));
    if (i < expected && found[i] >= 0 && found[i] < MOST) seen[kind][found[i]]++;
  }
  CHECK_OK(list(kind, category, 1, some));
  CHECK_EQUAL(some[1], -7);
  CHECK_OK(list(kind, category, 0, NULL));
  CHECK_CLASS(list(kind, category, -1, found), MPI_T_ERR_INVALID);
  CHECK_CLASS(list(kind, -1, MOST, found), MPI_T_ERR_INVALID_INDEX);
}

int main(int argc, char **argv) {
  int provided, number = 0, before = -1, after = -2, index, all[3] = {0, 0, 0}, none = -7;
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_category_changed(&before));
  CHECK_OK(MPI_T_category_get_num(&number));
  CHECK(number > 0);
  check_init(&argc, &argv);
  for (int i = 0; i < number; i++) {
    char name[100], description[300];
    int length = 100, description_length = 300, count[3], categories = -1;
    CHECK_OK(MPI_T_category_get_info(i, name, &length, description, &description_length, &count[0], &count[1], &categories));
    CHECK(length == (int)strlen(name) + 1 && length > 1 && description_length == (int)strlen(description) + 1);
    CHECK_OK(MPI_T_category_get_index(name, &index));
    CHECK_EQUAL(index, i);
    CHECK_OK(MPI_T_category_get_num_events(i, &count[2]));
    for (int kind = 0; kind < 3; kind++) members(i, kind, count[kind]);
    CHECK_EQUAL(categories, 0);
    CHECK_OK(MPI_T_category_get_categories(i, 1, &none));
    CHECK_EQUAL(none, -7);
    CHECK_OK(MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  }
  CHECK_OK(MPI_T_cvar_get_num(&all[0]));
  CHECK_OK(MPI_T_pvar_get_num(&all[1]));
  CHECK_OK(MPI_T_event_get_num(&all[2]));
  for (int kind = 0; kind < 3; kind++)
    for (int i = 0; i < MOST; i++) CHECK_EQUAL(seen[kind][i], i < all[kind]);
  CHECK_CLASS(MPI_T_category_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_category_get_categories(number, 0, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_category_get_num_events(-1, &index), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME);
  CHECK_OK(MPI_T_category_changed(&after));
  CHECK_EQUAL(after, before);
  CHECK_OK(MPI_T_finalize());
  return check_end();
}
