// Views: data in turns, parts of a matrix, holes, the end of the file as a view sees it, what is refused.
// weft-test: faults=yes
#include "files.h"

#define BLOCKS 50

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_scratch();
  MPI_Status status;
  MPI_Offset offset, disp;
  MPI_Datatype etype, filetype, block, spread;
  char datarep[MPI_MAX_DATAREP_STRING];

  // At first, bytes.
  CHECK_OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
  CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && strcmp(datarep, "native") == 0);

  // Blocks of three ints, of all ranks in turns, behind a head of 16 bytes.
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &block));
  CHECK_OK(MPI_Type_create_resized(block, 0, 12 * size, &spread));
  CHECK_OK(MPI_Type_commit(&block));
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, spread, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_OK(MPI_Type_commit(&spread));
  CHECK_OK(MPI_File_set_view(file, 16 + 12 * rank, MPI_INT, spread, "native", MPI_INFO_NULL));
  int mine[3 * BLOCKS], got[3 * BLOCKS + 3];
  for (int i = 0; i < 3 * BLOCKS; i++) mine[i] = 10000 * rank + i;
  CHECK_OK(MPI_File_write_all(file, mine, 3 * BLOCKS, MPI_INT, &status));
  check_count(&status, MPI_INT, 3 * BLOCKS);
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 3 * BLOCKS);
  CHECK_OK(MPI_File_get_byte_offset(file, 4, &disp));
  CHECK_EQUAL(disp, 16 + 12 * rank + 12 * size + 4);
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_read_at_all(file, 1, got, 3 * BLOCKS, MPI_INT, &status));
  // Behind the last block of the last rank there is nothing.
  check_count(&status, MPI_INT, 3 * BLOCKS - 1);
  CHECK(memcmp(got, mine + 1, (3 * BLOCKS - 1) * sizeof(int)) == 0);
  CHECK_OK(MPI_File_seek(file, 0, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 3 * BLOCKS);

  // What the view is made of is given back.
  CHECK_OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
  MPI_Aint lb, extent;
  CHECK_EQUAL(disp, 16 + 12 * rank);
  CHECK(etype == MPI_INT);
  CHECK_OK(MPI_Type_get_extent(filetype, &lb, &extent));
  CHECK_EQUAL(extent, 12 * size);
  CHECK_OK(MPI_Type_free(&filetype));

  // The same bytes without a view.
  CHECK_OK(MPI_File_set_view(file, 16, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 0);
  int right = (rank + 1) % size, three[3];
  for (int i = 0; i < BLOCKS; i++) {
    CHECK_OK(MPI_File_read_at(file, 12 * ((MPI_Offset)i * size + right), three, 3, MPI_INT, &status));
    CHECK(three[0] == 10000 * right + 3 * i && three[2] == 10000 * right + 3 * i + 2);
  }

  // Columns of a matrix of doubles, from memory with a border.
  enum { ROWS = 13, COLUMNS = 4 };
  int sizes[2] = {ROWS, COLUMNS * size}, parts[2] = {ROWS, COLUMNS}, starts[2] = {0, COLUMNS * rank};
  int outer[2] = {ROWS + 2, COLUMNS + 2}, within[2] = {1, 1};
  MPI_Datatype columns, inner;
  CHECK_OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &columns));
  CHECK_OK(MPI_Type_create_subarray(2, outer, parts, within, MPI_ORDER_C, MPI_DOUBLE, &inner));
  CHECK_OK(MPI_Type_commit(&columns));
  CHECK_OK(MPI_Type_commit(&inner));
  double field[ROWS + 2][COLUMNS + 2], back[ROWS + 2][COLUMNS + 2];
  for (int i = 0; i < ROWS + 2; i++)
    for (int j = 0; j < COLUMNS + 2; j++) field[i][j] = 1000 * (i - 1) + COLUMNS * rank + j - 1;
  CHECK_OK(MPI_File_set_size(file, 0));
  CHECK_OK(MPI_File_set_view(file, 100, MPI_DOUBLE, columns, "native", MPI_INFO_NULL));
  for (int step = 0; step < 3; step++) {
    CHECK_OK(MPI_File_write_all(file, field, 1, inner, &status));
    check_count(&status, inner, 1);
  }
  CHECK_OK(MPI_File_sync(file));
  memset(back, 0, sizeof back);
  CHECK_OK(MPI_File_read_at_all(file, ROWS * COLUMNS, back, 1, inner, &status));
  for (int i = 1; i <= ROWS; i++) CHECK(memcmp(&back[i][1], &field[i][1], COLUMNS * sizeof(double)) == 0);
  CHECK(back[0][0] == 0 && back[1][0] == 0 && back[ROWS + 1][1] == 0);
  double row[4 * 17];
  CHECK_OK(MPI_File_set_view(file, 100, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  int length = COLUMNS * size;
  CHECK_OK(MPI_File_read_at(file, (2 * ROWS + 5) * (MPI_Offset)length, row, length, MPI_DOUBLE, &status));
  for (int i = 0; i < length; i++) CHECK_EQUAL(row[i], 5000 + i);

  // What no view can be made of.
  int lengths[2] = {1, 1}, back_and_forth[2] = {1, 0}, same[2] = {0, 0};
  MPI_Datatype backwards, twice, six;
  CHECK_OK(MPI_Type_indexed(2, lengths, back_and_forth, MPI_INT, &backwards));
  CHECK_OK(MPI_Type_indexed(2, lengths, same, MPI_INT, &twice));
  CHECK_OK(MPI_Type_contiguous(6, MPI_BYTE, &six));
  CHECK_OK(MPI_Type_commit(&backwards));
  CHECK_OK(MPI_Type_commit(&twice));
  CHECK_OK(MPI_Type_commit(&six));
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, backwards, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, twice, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, six, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(file, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "foreign", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  if (size > 1)
    CHECK_CLASS(MPI_File_set_view(file, 0, rank ? MPI_INT : MPI_DOUBLE, rank ? MPI_INT : MPI_DOUBLE, "native",
                                  MPI_INFO_NULL), MPI_ERR_NOT_SAME);
  // An error of one rank is one of all.
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, rank ? MPI_INT : six, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  // The view is what it was; parts of etypes are refused.
  CHECK_CLASS(MPI_File_read_at(file, 0, row, 3, MPI_BYTE, &status), MPI_ERR_TYPE);
  CHECK_OK(MPI_File_read_at(file, 1, row, 8, MPI_BYTE, &status));
  CHECK_EQUAL(row[0], 1);

  // Of a filetype whose instances would overlap, one can be written and read.
  MPI_Datatype apart, narrow;
  int two[2] = {rank + 1, -rank - 1}, again[2] = {0, 0};
  CHECK_OK(MPI_Type_vector(2, 1, 2 * size, MPI_INT, &apart));
  CHECK_OK(MPI_Type_create_resized(apart, 0, 4, &narrow));
  CHECK_OK(MPI_Type_commit(&narrow));
  CHECK_OK(MPI_File_set_view(file, 4 * rank, MPI_INT, narrow, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(file, 0, two, 2, MPI_INT, &status));
  CHECK_OK(MPI_File_read_at_all(file, 0, again, 2, MPI_INT, &status));
  CHECK(again[0] == two[0] && again[1] == two[1]);
  CHECK_CLASS(MPI_File_write_at(file, 1, two, 2, MPI_INT, &status), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_at_all(file, 1, two, 2, MPI_INT, &status), MPI_ERR_ARG);

  // A rank without data.
  MPI_Datatype none;
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &none));
  CHECK_OK(MPI_Type_commit(&none));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, rank == 0 ? none : MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_all(file, got, rank == 0 ? 0 : 1, MPI_INT, &status));
  MPI_Datatype all[] = {block, spread, columns, inner, backwards, twice, six, apart, narrow, none};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) CHECK_OK(MPI_Type_free(&all[i]));
  CHECK_OK(MPI_File_close(&file));
  return check_end();
}
