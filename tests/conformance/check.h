// What every conformance program uses: checks that say what failed where, and a common end.
#ifndef WEFT_CHECK_H
#define WEFT_CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int check_rank = -1;

// Counts a failure and says which condition did not hold; the program goes on.
#define CHECK(condition)                                                                             \
  do {                                                                                               \
    if (!(condition)) {                                                                              \
      if (check_failures++ < 10)                                                                     \
        fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, check_rank, #condition);         \
    }                                                                                                \
  } while (0)

// Compares two integers and prints both when they differ.
#define CHECK_EQUAL(a, b)                                                                            \
  do {                                                                                               \
    long long check_a = (long long)(a), check_b = (long long)(b);                                    \
    if (check_a != check_b && check_failures++ < 10)                                                 \
      fprintf(stderr, "%s:%d: rank %d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, check_rank, #a, check_a, \
              check_b, #b);                                                                          \
  } while (0)

// Expects a call to succeed.
#define CHECK_OK(call) CHECK_CLASS(call, MPI_SUCCESS)

// Expects a call to return an error code of the given class.
#define CHECK_CLASS(call, expected)                                                                  \
  do {                                                                                               \
    int check_code = (call), check_class = -1;                                                       \
    MPI_Error_class(check_code, &check_class);                                                       \
    if (check_class != (expected) && check_failures++ < 10) {                                        \
      char check_text[MPI_MAX_ERROR_STRING] = "";                                                    \
      int check_length;                                                                              \
      MPI_Error_string(check_code, check_text, &check_length);                                       \
      fprintf(stderr, "%s:%d: rank %d: %s returns class %d (%s), not %s\n", __FILE__, __LINE__, check_rank, #call, \
              check_class, check_text, #expected);                                                   \
    }                                                                                                \
  } while (0)

// Starts MPI and remembers the rank; errors are returned on the predefined communicators.
static inline void check_init(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

// Ends MPI and returns the exit code of the program: 1 if a check failed in any rank.
static inline int check_end(void) {
  int all = 0;
  MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
#endif
