// A status in the layouts of C, of mpif.h and of mpi_f08. weft-test: ranks=1 part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Status status, back;
  MPI_Fint words[MPI_F_STATUS_SIZE];
  MPI_F08_status f08;
  memset(&status, 0, sizeof status);
  memset(&back, 1, sizeof back);
  status.MPI_SOURCE = 3;
  status.MPI_TAG = 5;
  status.MPI_ERROR = 7;
  for (int i = 0; i < 5; i++) status.MPI_internal[i] = 11 + i;

  CHECK_OK(MPI_Status_c2f(&status, words));
  CHECK_EQUAL(words[MPI_F_SOURCE], 3);
  CHECK_EQUAL(words[MPI_F_TAG], 5);
  CHECK_EQUAL(words[MPI_F_ERROR], 7);
  CHECK_OK(MPI_Status_f2c(words, &back));
  CHECK(memcmp(&status, &back, sizeof status) == 0);

  memset(&back, 1, sizeof back);
  CHECK_OK(MPI_Status_c2f08(&status, &f08));
  CHECK_EQUAL(f08.MPI_TAG, 5);
  CHECK_OK(MPI_Status_f082c(&f08, &back));
  CHECK(memcmp(&status, &back, sizeof status) == 0);

  memset(words, 0, sizeof words);
  CHECK_OK(MPI_Status_f082f(&f08, words));
  CHECK_EQUAL(words[MPI_F_TAG], 5);
  words[MPI_F_TAG] = 6;
  CHECK_OK(MPI_Status_f2f08(words, &f08));
  CHECK_EQUAL(f08.MPI_TAG, 6);
  CHECK_EQUAL(f08.MPI_internal[4], 15);
  return check_end();
}
