// Representations of data in a file: "external32" byte by byte, "internal", and one of the program's own.
// weft-test: faults=yes
#include "files.h"

static int reads, writes;

static int extent(MPI_Datatype datatype, MPI_Aint *bytes, void *state) {
  MPI_Aint lb;
  CHECK_EQUAL(*(int *)state, 4711);
  MPI_Type_get_extent(datatype, &lb, bytes);
  *bytes *= 2;
  return MPI_SUCCESS;
}

// Ints, each written twice: as it is, and with all bits turned.
static int write_twice(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state) {
  int *from = user, *to = file;
  (void)datatype, (void)state;
  for (int i = 0; i < count; i++) {
    to[2 * i] = from[position + i];
    to[2 * i + 1] = ~from[position + i];
  }
  writes++;
  return MPI_SUCCESS;
}

static int read_twice(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset position, void *state) {
  int *to = user, *from = file;
  (void)datatype, (void)state;
  for (int i = 0; i < count; i++) {
    if (from[2 * i] != ~from[2 * i + 1]) return MPI_ERR_OTHER;
    to[position + i] = from[2 * i];
  }
  reads++;
  return MPI_SUCCESS;
}

static int write_large(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state) {
  return write_twice(user, datatype, (int)count, file, position, state);
}

static int read_large(void *user, MPI_Datatype datatype, MPI_Count count, void *file, MPI_Offset position, void *state) {
  return read_twice(user, datatype, (int)count, file, position, state);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_File file = open_scratch();
  MPI_Status status;
  MPI_Aint bytes;
  MPI_Count many;
  MPI_Offset offset;
  unsigned char raw[32];

  // Big-endian; longs have four bytes.
  long numbers[3] = {1, -2, 0x12345678}, got[4] = {0, 0, 0, 99};
  CHECK_OK(MPI_File_set_view(file, 16 * rank, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_type_extent(file, MPI_LONG, &bytes));
  CHECK_EQUAL(bytes, 4);
  CHECK_OK(MPI_File_get_type_extent_c(file, MPI_DOUBLE, &many));
  CHECK_EQUAL(many, 8);
  CHECK_OK(MPI_File_write(file, numbers, 3, MPI_LONG, &status));
  check_count(&status, MPI_LONG, 3);
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 3);
  CHECK_OK(MPI_File_read_at(file, 1, got, 2, MPI_LONG, &status));
  check_count(&status, MPI_LONG, 2);
  CHECK(got[0] == -2 && got[1] == 0x12345678 && got[3] == 99);
  CHECK_OK(MPI_File_set_view(file, 16 * rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read(file, raw, 12, MPI_BYTE, &status));
  CHECK(memcmp(raw, "\0\0\0\1\xff\xff\xff\xfe\x12\x34\x56\x78", 12) == 0);

  // Each other long of a view, in external32: displacements are scaled.
  CHECK_OK(MPI_File_set_size(file, 0));
  MPI_Datatype odd;
  CHECK_OK(MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &odd));
  CHECK_OK(MPI_Type_free(&odd));
  CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_LONG, &odd));
  CHECK_OK(MPI_Type_commit(&odd));
  CHECK_OK(MPI_File_set_view(file, 12 * rank, MPI_LONG, odd, "external32", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(file, numbers, 2, MPI_LONG, &status));
  CHECK_OK(MPI_File_get_byte_offset(file, 1, &offset));
  CHECK_EQUAL(offset, 12 * rank + 8);
  CHECK_OK(MPI_Type_free(&odd));

  CHECK_OK(MPI_File_set_view(file, 100 * rank, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
  int values[5] = {5, 4, 3, 2, 1}, back[5] = {0};
  CHECK_OK(MPI_File_write(file, values, 5, MPI_INT, &status));
  CHECK_OK(MPI_File_read_at(file, 0, back, 5, MPI_INT, &status));
  CHECK(memcmp(values, back, sizeof values) == 0);

  // The program's own.
  static int state = 4711;
  CHECK_OK(MPI_Register_datarep("twice", read_twice, write_twice, extent, &state));
  CHECK_OK(MPI_Register_datarep_c("twice, large", read_large, write_large, extent, &state));
  CHECK_CLASS(MPI_Register_datarep("twice", read_twice, write_twice, extent, &state), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("native", read_twice, write_twice, extent, &state), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("none", read_twice, write_twice, NULL, &state), MPI_ERR_ARG);
  const char *names[] = {"twice", "twice, large"};
  for (int i = 0; i < 2; i++) {
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    MPI_Request request;
    CHECK_OK(MPI_File_set_view(file, 200 * rank, MPI_INT, MPI_INT, names[i], MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_view(file, &offset, &etype, &filetype, datarep));
    CHECK(strcmp(datarep, names[i]) == 0);
    CHECK_OK(MPI_File_get_type_extent(file, MPI_INT, &bytes));
    CHECK_EQUAL(bytes, 2 * sizeof(int));
    CHECK_OK(MPI_File_write_at(file, 2, values, 5, MPI_INT, &status));
    check_count(&status, MPI_INT, 5);
    memset(back, 0, sizeof back);
    CHECK_OK(MPI_File_iread_at(file, 2, back, 5, MPI_INT, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    check_count(&status, MPI_INT, 5);
    CHECK(memcmp(values, back, sizeof values) == 0);
  }
  CHECK_EQUAL(reads, 2);
  CHECK_EQUAL(writes, 2);
  // A function that fails.
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_write_at_all(file, 0, values, 5, MPI_INT, &status));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_read_at(file, 0, back, 2, MPI_INT, &status), MPI_ERR_CONVERSION);
  CHECK_OK(MPI_File_close(&file));
  return check_end();
}
