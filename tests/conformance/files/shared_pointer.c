// The shared file pointer: every rank's data is there once, and ordered operations keep the ranks' order.
#include "files.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_scratch();
  MPI_Status status;
  MPI_Offset offset;
  MPI_Request request;
  enum { ROUNDS = 20 };
  CHECK_OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));

  // Records of two ints, in any order, each whole.
  for (int i = 0; i < ROUNDS; i++) {
    int record[2] = {1000 * rank + i, -(1000 * rank + i)};
    if (i % 2) {
      CHECK_OK(MPI_File_iwrite_shared(file, record, 2, MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, &status));
    } else {
      CHECK_OK(MPI_File_write_shared(file, record, 2, MPI_INT, &status));
    }
    check_count(&status, MPI_INT, 2);
  }
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQUAL(offset, 2 * ROUNDS * size);
  CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  int seen = 0, all = 0, sum = 0, total = 0;
  for (int i = 0; i < ROUNDS; i++) {
    int record[2] = {0, 0};
    if (i % 2) {
      CHECK_OK(MPI_File_iread_shared(file, record, 2, MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, &status));
    } else {
      CHECK_OK(MPI_File_read_shared(file, record, 2, MPI_INT, &status));
    }
    CHECK_EQUAL(record[0], -record[1]);
    seen++;
    sum += record[0];
  }
  CHECK_OK(MPI_Allreduce(&seen, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(all, ROUNDS * size);
  CHECK_EQUAL(total, 1000 * ROUNDS * size * (size - 1) / 2 + size * ROUNDS * (ROUNDS - 1) / 2);

  // Ordered: rank r has r + 1 ints.
  CHECK_OK(MPI_File_seek_shared(file, -2 * size, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQUAL(offset, 2 * (ROUNDS - 1) * size);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
  int mine[17], got[17];
  for (int i = 0; i <= rank; i++) mine[i] = 100 * rank + i;
  CHECK_OK(MPI_File_write_ordered(file, mine, rank + 1, MPI_INT, &status));
  check_count(&status, MPI_INT, rank + 1);
  CHECK_OK(MPI_File_write_ordered_begin(file, mine, rank + 1, MPI_INT));
  CHECK_OK(MPI_File_write_ordered_end(file, mine, &status));
  check_count(&status, MPI_INT, rank + 1);
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQUAL(offset, 5 + size * (size + 1));
  CHECK_OK(MPI_File_read_at(file, 5 + rank * (rank + 1) / 2, got, rank + 1, MPI_INT, &status));
  CHECK(memcmp(got, mine, (rank + 1) * sizeof(int)) == 0);
  CHECK_OK(MPI_File_seek_shared(file, -size * (size + 1), MPI_SEEK_CUR));
  for (int round = 0; round < 2; round++) {
    memset(got, 0, sizeof got);
    if (round) {
      CHECK_OK(MPI_File_read_ordered_begin(file, got, rank + 1, MPI_INT));
      CHECK_OK(MPI_File_read_ordered_end(file, got, &status));
    } else {
      CHECK_OK(MPI_File_read_ordered(file, got, rank + 1, MPI_INT, &status));
    }
    CHECK(memcmp(got, mine, (rank + 1) * sizeof(int)) == 0);
  }
  CHECK_OK(MPI_File_close(&file));
  return check_end();
}
