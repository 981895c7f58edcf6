// What the programs on files share: a name that no other job uses, known to all ranks.
#ifndef WEFT_FILES_H
#define WEFT_FILES_H
#include "../check.h"
#include <unistd.h>

#define NAME_LENGTH 512

// Chooses a name of a file that is not there.
static inline void choose_name(char name[NAME_LENGTH]) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    const char *folder = getenv("TMPDIR");
    snprintf(name, NAME_LENGTH, "%s/weft-files-XXXXXX", folder ? folder : "/tmp");
    int descriptor = mkstemp(name);
    CHECK(descriptor >= 0);
    close(descriptor);
    unlink(name);
  }
  CHECK_OK(MPI_Bcast(name, NAME_LENGTH, MPI_CHAR, 0, MPI_COMM_WORLD));
}

// Opens a new file of all ranks, which is gone when it is closed.
static inline MPI_File open_scratch(void) {
  char name[NAME_LENGTH];
  MPI_File file;
  choose_name(name);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
  return file;
}

// Compares the number of elements in a status.
static inline void check_count(MPI_Status *status, MPI_Datatype datatype, int expected) {
  int count = -1;
  CHECK_OK(MPI_Get_count(status, datatype, &count));
  CHECK_EQUAL(count, expected);
}
#endif
