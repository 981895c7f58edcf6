// Hints: which are understood and shown, which are ignored, and that the data is the same whatever they say: small windows, few and
// many ranks that work for others, none at all.
#include "files.h"

#define PIECES 40
#define PIECE 7

static void set(MPI_Info info, const char *key, const char *value) { CHECK_OK(MPI_Info_set(info, key, value)); }

// Compares what a file's info says of a key; nothing if it is not to be there.
static void check_hint(MPI_File file, const char *key, const char *expected) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag, length = sizeof value;
  CHECK_OK(MPI_File_get_info(file, &info));
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK_EQUAL(flag, expected != NULL);
  if (expected && strcmp(value, expected) != 0) {
    fprintf(stderr, "hint %s is \"%s\", not \"%s\"\n", key, value, expected);
    CHECK(0);
  }
  CHECK_OK(MPI_Info_free(&info));
}

// Writes pieces of all ranks in turns, and reads those of the next rank, of which the last has less than it wants.
static void exchange(MPI_File file, int rank, int size, int turn) {
  MPI_Datatype piece, turns;
  MPI_Status status;
  char mine[PIECES * PIECE], got[PIECES * PIECE + PIECE];
  int right = (rank + 1) % size, count;
  CHECK_OK(MPI_Type_contiguous(PIECE, MPI_CHAR, &piece));
  CHECK_OK(MPI_Type_create_resized(piece, 0, PIECE * size, &turns));
  CHECK_OK(MPI_Type_commit(&turns));
  CHECK_OK(MPI_File_set_view(file, 3 + PIECE * rank, MPI_CHAR, turns, "native", MPI_INFO_NULL));
  for (int i = 0; i < PIECES * PIECE; i++) mine[i] = (char)(rank * 31 + i * 7 + turn);
  CHECK_OK(MPI_File_write_at_all(file, 0, mine, rank == 1 ? PIECE : PIECES * PIECE, MPI_CHAR, &status));
  if (rank == 1) CHECK_OK(MPI_File_write_at(file, PIECE, mine + PIECE, (PIECES - 1) * PIECE, MPI_CHAR, &status));
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_sync(file));
  CHECK_OK(MPI_File_set_view(file, 3 + PIECE * right, MPI_CHAR, turns, "native", MPI_INFO_NULL));
  memset(got, 99, sizeof got);
  CHECK_OK(MPI_File_read_at_all(file, 0, got, PIECES * PIECE + PIECE, MPI_CHAR, &status));
  CHECK_OK(MPI_Get_count(&status, MPI_CHAR, &count));
  CHECK_EQUAL(count, PIECES * PIECE);
  for (int i = 0; i < PIECES * PIECE; i++) CHECK_EQUAL(got[i], (char)(right * 31 + i * 7 + turn));
  for (int i = PIECES * PIECE; i < (int)sizeof got; i++) CHECK_EQUAL(got[i], 99);
  CHECK_OK(MPI_Type_free(&piece));
  CHECK_OK(MPI_Type_free(&turns));
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[NAME_LENGTH];
  MPI_File file;
  MPI_Info info;
  choose_name(name);
  CHECK_OK(MPI_Info_create(&info));
  set(info, "cb_nodes", rank == 0 ? "1" : "2");
  set(info, "cb_buffer_size", "65");
  set(info, "striping_unit", "32");
  set(info, "romio_cb_write", "enable");
  set(info, "romio_cb_read", "Enable");
  set(info, "romio_ds_read", "sometimes");
  set(info, "access_style", "write_once,sequential");
  set(info, "io_node_list", "nowhere");
  set(info, "key of nobody", "7");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
  CHECK_OK(MPI_Info_free(&info));
  // What must be the same at all ranks is what the first says.
  check_hint(file, "cb_nodes", "1");
  check_hint(file, "cb_buffer_size", "65");
  check_hint(file, "striping_unit", "32");
  check_hint(file, "romio_cb_write", "enable");
  check_hint(file, "romio_cb_read", "enable");
  check_hint(file, "collective_buffering", "true");
  check_hint(file, "filename", name);
  check_hint(file, "io_node_list", NULL);
  check_hint(file, "key of nobody", NULL);
  exchange(file, rank, size, 0);

  CHECK_OK(MPI_Info_create(&info));
  set(info, "cb_nodes", "1000");
  set(info, "cb_buffer_size", "-3");
  set(info, "romio_cb_write", "perhaps");
  set(info, "romio_cb_read", "automatic");
  CHECK_OK(MPI_File_set_info(file, info));
  char all[20];
  snprintf(all, sizeof all, "%d", size);
  check_hint(file, "cb_nodes", all);
  // A value that means nothing changes nothing.
  check_hint(file, "cb_buffer_size", "65");
  check_hint(file, "romio_cb_write", "enable");
  check_hint(file, "romio_cb_read", "automatic");
  exchange(file, rank, size, 1);

  set(info, "collective_buffering", "false");
  set(info, "cb_buffer_size", "1048576");
  CHECK_OK(MPI_Info_delete(info, "romio_cb_read"));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", info));
  check_hint(file, "romio_cb_write", "disable");
  check_hint(file, "romio_cb_read", "disable");
  check_hint(file, "collective_buffering", "false");
  check_hint(file, "cb_buffer_size", "1048576");
  exchange(file, rank, size, 2);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_File_close(&file));
  return check_end();
}
