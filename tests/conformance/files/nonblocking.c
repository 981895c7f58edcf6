// Operations behind requests, and split collective ones: many at once, with long data, errors that come with the completion.
// weft-test: faults=yes
#include "files.h"

#define LONG (200 * 1000)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, flag;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_scratch();
  MPI_Status status, statuses[8];
  MPI_Request requests[8];
  MPI_Offset offset;
  static int mine[LONG], got[LONG];
  for (int i = 0; i < LONG; i++) mine[i] = 7 * i + rank;
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Offset first = (MPI_Offset)rank * LONG;
  const int part = LONG / 8;

  // Eight at once; the file pointer goes on at once.
  CHECK_OK(MPI_File_seek(file, first + 4 * part, MPI_SEEK_SET));
  for (int i = 0; i < 4; i++)
    CHECK_OK(MPI_File_iwrite_at(file, first + i * part, mine + i * part, part, MPI_INT, &requests[i]));
  CHECK_OK(MPI_File_iwrite(file, mine + 4 * part, part, MPI_INT, &requests[4]));
  CHECK_OK(MPI_File_iwrite_all(file, mine + 5 * part, part, MPI_INT, &requests[5]));
  CHECK_OK(MPI_File_iwrite_at_all(file, first + 6 * part, mine + 6 * part, part, MPI_INT, &requests[6]));
  CHECK_OK(MPI_File_iwrite_at_all_c(file, first + 7 * part, mine + 7 * part, part, MPI_INT, &requests[7]));
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, first + 6 * part);
  CHECK_OK(MPI_Waitall(8, requests, statuses));
  for (int i = 0; i < 8; i++) check_count(&statuses[i], MPI_INT, part);
  CHECK_OK(MPI_File_sync(file));
  int left = (rank + size - 1) % size;
  MPI_Offset from = (MPI_Offset)left * LONG;
  CHECK_OK(MPI_File_seek(file, from + 4 * part, MPI_SEEK_SET));
  for (int i = 0; i < 4; i++)
    CHECK_OK(MPI_File_iread_at(file, from + i * part, got + i * part, part, MPI_INT, &requests[i]));
  CHECK_OK(MPI_File_iread(file, got + 4 * part, part, MPI_INT, &requests[4]));
  CHECK_OK(MPI_File_iread_all(file, got + 5 * part, part, MPI_INT, &requests[5]));
  CHECK_OK(MPI_File_iread_at_all(file, from + 6 * part, got + 6 * part, part, MPI_INT, &requests[6]));
  CHECK_OK(MPI_File_iread_at_c(file, from + 7 * part, got + 7 * part, part, MPI_INT, &requests[7]));
  for (int i = 0; i < 8; i++) {
    for (flag = 0; !flag;) CHECK_OK(MPI_Test(&requests[i], &flag, &status));
    check_count(&status, MPI_INT, part);
  }
  for (int i = 0; i < LONG; i++)
    if (got[i] != 7 * i + left) { CHECK_EQUAL(got[i], 7 * i + left); break; }

  // Split: one at a time, ended by what began it, with the same buffer.
  CHECK_OK(MPI_File_seek(file, first, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_all_begin(file, mine, part, MPI_INT));
  CHECK_CLASS(MPI_File_write_at_all_begin(file, first, mine, part, MPI_INT), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_write_all(file, mine, part, MPI_INT, &status), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_sync(file), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_write_at_all_end(file, mine, &status), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_write_all_end(file, mine + 1, &status), MPI_ERR_BUFFER);
  CHECK_OK(MPI_File_read_at(file, first, got, 0, MPI_INT, &status));
  CHECK_OK(MPI_File_write_all_end(file, mine, &status));
  check_count(&status, MPI_INT, part);
  CHECK_CLASS(MPI_File_write_all_end(file, mine, &status), MPI_ERR_OTHER);
  CHECK_OK(MPI_File_write_at_all_begin(file, first + part, mine + part, part, MPI_INT));
  CHECK_OK(MPI_File_write_at_all_end(file, mine + part, &status));
  CHECK_OK(MPI_File_sync(file));
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_seek(file, first, MPI_SEEK_SET));
  CHECK_OK(MPI_File_read_all_begin(file, got, part, MPI_INT));
  CHECK_OK(MPI_File_read_all_end(file, got, &status));
  CHECK_OK(MPI_File_read_at_all_begin(file, first + part, got + part, part, MPI_INT));
  CHECK_OK(MPI_File_read_at_all_end(file, got + part, &status));
  check_count(&status, MPI_INT, part);
  CHECK(memcmp(got, mine, 2 * part * sizeof(int)) == 0);

  // A request that is freed goes on; reading behind the end is no error.
  CHECK_OK(MPI_File_iread_at(file, (MPI_Offset)size * LONG, got, 5, MPI_INT, &requests[0]));
  CHECK_OK(MPI_Wait(&requests[0], &status));
  check_count(&status, MPI_INT, 0);
  CHECK_CLASS(MPI_File_iread_at(file, 0, got, -1, MPI_INT, &requests[0]), MPI_ERR_COUNT);
  CHECK_OK(MPI_File_close(&file));

  // An error that comes with the completion goes to the file's error handler: a device that is always full.
  if (access("/dev/full", W_OK) == 0) {
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    CHECK_CLASS(MPI_File_write_at(file, 0, mine, 5, MPI_INT, &status), MPI_ERR_NO_SPACE);
    CHECK_OK(MPI_File_iwrite_at(file, 0, mine, 5, MPI_INT, &requests[0]));
    CHECK_CLASS(MPI_Wait(&requests[0], &status), MPI_ERR_NO_SPACE);
    CHECK_OK(MPI_File_iwrite_at(file, 0, mine, 5, MPI_INT, &requests[0]));
    CHECK_OK(MPI_File_iwrite_at(file, 0, mine, 0, MPI_INT, &requests[1]));
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_ERR_NO_SPACE);
    CHECK_OK(MPI_File_write_all_begin(file, mine, 5, MPI_INT));
    CHECK_CLASS(MPI_File_write_all_end(file, mine, &status), MPI_ERR_NO_SPACE);
    MPI_File_close(&file);
  }
  return check_end();
}
