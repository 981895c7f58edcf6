// No call changes errno, whether it waits, fails, or asks the system for something.
#include "check.h"
#include <errno.h>

static int calls;

// Makes a call with a value in errno that none gives, and expects to find it afterwards.
#define KEEPS(call)                                                                                  \
  do {                                                                                               \
    errno = 1000 + ++calls;                                                                          \
    call;                                                                                            \
    CHECK_EQUAL(errno, 1000 + calls);                                                                \
  } while (0)

int main(int argc, char **argv) {
  KEEPS(MPI_Init(&argc, &argv));
  KEEPS(MPI_Comm_rank(MPI_COMM_WORLD, &check_rank));
  KEEPS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  KEEPS(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  int size, value = check_rank, all, length, flag;
  KEEPS(MPI_Comm_size(MPI_COMM_WORLD, &size));

  // Calls that wait, also for each other.
  MPI_Comm copies[8];
  for (int i = 0; i < 8; i++) {
    KEEPS(CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i])));
    KEEPS(CHECK_OK(MPI_Barrier(copies[i])));
    KEEPS(CHECK_OK(MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, copies[i])));
    CHECK_EQUAL(all, size * (size - 1) / 2);
    MPI_Request request;
    KEEPS(CHECK_OK(MPI_Ibarrier(copies[i], &request)));
    KEEPS(CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE)));
  }
  enum { LENGTH = 1 << 20 };
  char *out = NULL, *in = NULL;
  KEEPS(CHECK_OK(MPI_Alloc_mem(LENGTH, MPI_INFO_NULL, &out)));
  KEEPS(CHECK_OK(MPI_Alloc_mem(LENGTH, MPI_INFO_NULL, &in)));
  memset(out, check_rank + 1, LENGTH);
  int next = (check_rank + 1) % size, previous = (check_rank + size - 1) % size;
  for (int count = 1; count <= LENGTH; count *= 1024) {
    KEEPS(CHECK_OK(MPI_Sendrecv(out, count, MPI_CHAR, next, 5, in, count, MPI_CHAR, previous, 5, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE)));
    CHECK_EQUAL(in[count - 1], (char)(previous + 1));
  }
  KEEPS(CHECK_OK(MPI_Free_mem(out)));
  KEEPS(CHECK_OK(MPI_Free_mem(in)));
  for (int i = 0; i < 8; i++) KEEPS(CHECK_OK(MPI_Comm_free(&copies[i])));

  // Calls that fail.
  char port[MPI_MAX_PORT_NAME], name[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm met;
  KEEPS(CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 5, MPI_COMM_WORLD), MPI_ERR_RANK));
  KEEPS(CHECK_CLASS(MPI_Lookup_name("no such service", MPI_INFO_NULL, port), MPI_ERR_NAME));
  KEEPS(CHECK_CLASS(MPI_Comm_connect("no such port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &met), MPI_ERR_PORT));

  // Calls that ask the system.
  KEEPS(CHECK_OK(MPI_Get_processor_name(name, &length)));
  KEEPS(CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port)));
  KEEPS(CHECK_OK(MPI_Close_port(port)));
  MPI_Info info;
  KEEPS(CHECK_OK(MPI_Info_create_env(argc, argv, &info)));
  KEEPS(CHECK_OK(MPI_Info_free(&info)));
  KEEPS(CHECK_OK(MPI_Initialized(&flag)));
  KEEPS(CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)));
  KEEPS(CHECK_OK(MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)));
  int failures = check_failures;
  KEEPS(MPI_Finalize());
  if (check_failures != failures) fprintf(stderr, "rank %d: MPI_Finalize changed errno\n", check_rank);
  return all != 0 || check_failures != failures;
}
