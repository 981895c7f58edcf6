// Operations at explicit offsets and at the individual file pointer; sizes; the end of the file.
#include "files.h"

#define COUNT 100

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, mine[COUNT], got[COUNT + 10];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_scratch();
  MPI_Status status;
  MPI_Offset offset, bytes;
  for (int i = 0; i < COUNT; i++) mine[i] = 1000 * rank + i;

  // Explicit offsets, in bytes as long as nobody has set a view.
  MPI_Offset first = (MPI_Offset)rank * sizeof mine;
  CHECK_OK(MPI_File_write_at(file, first, mine, COUNT, MPI_INT, &status));
  check_count(&status, MPI_INT, COUNT);
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_get_size(file, &bytes));
  CHECK_EQUAL(bytes, size * sizeof mine);
  int left = (rank + size - 1) % size;
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_read_at(file, (MPI_Offset)left * sizeof mine, got, COUNT, MPI_INT, &status));
  check_count(&status, MPI_INT, COUNT);
  for (int i = 0; i < COUNT; i++) CHECK_EQUAL(got[i], 1000 * left + i);

  // Large counts, collective, and data with gaps.
  MPI_Datatype pairs;
  CHECK_OK(MPI_Type_vector(COUNT / 4, 2, 4, MPI_INT, &pairs));
  CHECK_OK(MPI_Type_commit(&pairs));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_write_at_all_c(file, first, mine, (MPI_Count)1, pairs, &status));
  check_count(&status, pairs, 1);
  CHECK_OK(MPI_File_sync(file));
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_read_at_all_c(file, first, got, (MPI_Count)COUNT / 2, MPI_INT, &status));
  for (int i = 0; i < COUNT / 2; i++) CHECK_EQUAL(got[i], mine[i / 2 * 4 + i % 2]);
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_read_at_all(file, first, got, 1, pairs, &status));
  check_count(&status, MPI_INT, COUNT / 2);
  for (int i = 0; i < COUNT; i++) CHECK_EQUAL(got[i], i % 4 < 2 ? mine[i] : 0);
  CHECK_OK(MPI_Type_free(&pairs));

  // The individual file pointer.
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_seek(file, first, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write(file, mine, 10, MPI_INT, &status));
  CHECK_OK(MPI_File_write_all(file, mine + 10, COUNT - 10, MPI_INT, &status));
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, first + sizeof mine);
  CHECK_OK(MPI_File_seek(file, -(MPI_Offset)sizeof mine, MPI_SEEK_CUR));
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_read(file, got, 5, MPI_INT, &status));
  CHECK_OK(MPI_File_read_all(file, got + 5, COUNT - 5, MPI_INT, &status));
  CHECK(memcmp(got, mine, sizeof mine) == 0);
  CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, first + sizeof mine);

  // The file ends within what is read, and before it; what there is not is left alone.
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_seek(file, -8, MPI_SEEK_END));
  memset(got, 1, sizeof got);
  CHECK_OK(MPI_File_read(file, got, COUNT, MPI_INT, &status));
  check_count(&status, MPI_INT, 2);
  CHECK_EQUAL(got[1], 1000 * (size - 1) + COUNT - 1);
  CHECK_EQUAL(got[2], 0x01010101);
  CHECK_OK(MPI_File_read_at(file, 1 << 30, got, 1, MPI_INT, &status));
  check_count(&status, MPI_INT, 0);
  CHECK_OK(MPI_File_read_at(file, 0, NULL, 0, MPI_INT, &status));
  check_count(&status, MPI_INT, 0);
  CHECK_CLASS(MPI_File_read_at(file, -1, got, 1, MPI_INT, &status), MPI_ERR_ARG);

  // Sizes.
  CHECK_OK(MPI_File_set_size(file, 12));
  CHECK_OK(MPI_File_get_size(file, &bytes));
  CHECK_EQUAL(bytes, 12);
  CHECK_OK(MPI_File_preallocate(file, 10));
  CHECK_OK(MPI_File_get_size(file, &bytes));
  CHECK_EQUAL(bytes, 12);
  CHECK_OK(MPI_File_preallocate(file, 100000));
  CHECK_OK(MPI_File_get_size(file, &bytes));
  CHECK_EQUAL(bytes, 100000);
  CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
  if (size > 1) CHECK_CLASS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);

  // The group, and atomic mode: all write the same bytes, and one of them has written all.
  MPI_Group group, world;
  int result, flag = -1;
  CHECK_OK(MPI_File_get_group(file, &group));
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Group_compare(group, world, &result));
  CHECK_EQUAL(result, MPI_IDENT);
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Group_free(&world));
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_File_set_atomicity(file, 1));
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQUAL(flag, 1);
  static char many[100000], all[100000];
  for (int round = 0; round < 5; round++) {
    memset(many, rank + 1, sizeof many);
    CHECK_OK(MPI_File_write_at_all(file, 0, many, sizeof many, MPI_CHAR, &status));
    CHECK_OK(MPI_File_read_at(file, 0, all, sizeof all, MPI_CHAR, &status));
    for (unsigned i = 1; i < sizeof all; i++)
      if (all[i] != all[0]) { CHECK_EQUAL(all[i], all[0]); break; }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_File_close(&file));
  return check_end();
}
