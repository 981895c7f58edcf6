// A program may add and remove any number of error classes, codes and strings: each call takes about as long as the first. If a
// call looked at all that have been added, this would take minutes. weft-test: ranks=1 schedulers=user workers=1
#include "check.h"

enum { ROUNDS = 20000, CODES = 8 };

static int classes[ROUNDS], codes[ROUNDS][CODES];

static void add(int round) {
  CHECK_OK(MPI_Add_error_class(&classes[round]));
  CHECK_OK(MPI_Add_error_string(classes[round], "a class"));
  for (int i = 0; i < CODES; i++) {
    CHECK_OK(MPI_Add_error_code(classes[round], &codes[round][i]));
    CHECK_OK(MPI_Add_error_string(codes[round][i], "a code"));
  }
}

static void look(int round) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class, *last, flag;
  CHECK_OK(MPI_Error_class(codes[round][CODES - 1], &class));
  CHECK_EQUAL(class, classes[round]);
  CHECK_OK(MPI_Error_string(codes[round][0], text, &length));
  CHECK(strcmp(text, "a code") == 0);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last >= codes[round][CODES - 1]);
}

static void take_back(int round) {
  for (int i = 0; i < CODES; i++) {
    CHECK_OK(MPI_Remove_error_string(codes[round][i]));
    CHECK_OK(MPI_Remove_error_code(codes[round][i]));
  }
  CHECK_OK(MPI_Remove_error_string(classes[round]));
  CHECK_OK(MPI_Remove_error_class(classes[round]));
}

int main(int argc, char **argv) {
  int *last, flag;
  check_init(&argc, &argv);
  // Each removed before the next comes.
  for (int round = 0; round < ROUNDS; round++) {
    add(round);
    look(round);
    take_back(round);
  }
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last == MPI_ERR_LASTCODE);
  // All at once, removed in the order of coming.
  for (int round = 0; round < ROUNDS; round++) add(round);
  for (int round = 0; round < ROUNDS; round++) look(round);
  for (int round = 0; round < ROUNDS; round++) take_back(round);
  return check_end();
}
