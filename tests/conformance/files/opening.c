// Opening, closing and deleting: what modes mean together, what is refused at all ranks, what is left afterwards.
// weft-test: faults=yes
#include "files.h"
#include <sys/stat.h>

static int exists(const char *name) { return access(name, F_OK) == 0; }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, modes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[NAME_LENGTH], inside[NAME_LENGTH + 8];
  choose_name(name);
  MPI_File file, other;
  const int create = MPI_MODE_CREATE | MPI_MODE_RDWR;

  // Modes that make no sense.
  int wrong[] = {0, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
                 MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_MODE_RDWR | (1 << 20), MPI_MODE_CREATE};
  for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, wrong[i], MPI_INFO_NULL, &file), MPI_ERR_AMODE);
  if (size > 1) {
    int mine = rank == size - 1 ? create | MPI_MODE_APPEND : create;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, mine, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
  }

  // What is not there.
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
  CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));

  // A new file, and then it is there.
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
  CHECK(file != MPI_FILE_NULL);
  CHECK_OK(MPI_File_get_amode(file, &modes));
  CHECK_EQUAL(modes, create | MPI_MODE_EXCL);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, create | MPI_MODE_EXCL, MPI_INFO_NULL, &other), MPI_ERR_FILE_EXISTS);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, create, MPI_INFO_NULL, &other));
  CHECK_OK(MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&other));
  CHECK(other == MPI_FILE_NULL);
  CHECK_OK(MPI_File_close(&file));
  CHECK(exists(name));

  // Appending begins at the end; what is only read is not written, and the other way round.
  MPI_Offset offset = -1;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQUAL(offset, 4 * size);
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQUAL(offset, 4 * size);
  CHECK_OK(MPI_File_close(&file));
  int value = -1;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_read_at(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, rank);
  CHECK_CLASS(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
  CHECK_OK(MPI_File_close(&file));
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN, MPI_INFO_NULL, &file));
  CHECK_CLASS(MPI_File_read(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_OK(MPI_File_close(&file));

  // Only in sequence.
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file));
  CHECK_CLASS(MPI_File_read(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_OK(MPI_File_read_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, rank);
  CHECK_OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  CHECK_OK(MPI_File_get_view(file, &offset, &etype, &filetype, datarep));
  CHECK_EQUAL(offset, 4 * size);
  CHECK_OK(MPI_File_close(&file));

  // What is no file, and what may not be written.
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  snprintf(inside, sizeof inside, "%s/x", name);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, inside, create, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);

  // A file of one's own, with permissions that the program chooses.
  char own[NAME_LENGTH + 16];
  snprintf(own, sizeof own, "%s-%d", name, rank);
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "file_perm", "0600"));
  CHECK_OK(MPI_Info_set(info, "no_such_hint", "7"));
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, own, create | MPI_MODE_DELETE_ON_CLOSE, info, &file));
  struct stat about;
  CHECK_EQUAL(stat(own, &about), 0);
  CHECK_EQUAL(about.st_mode & 0777, 0600);
  MPI_Info used;
  int flag = -1;
  char text[NAME_LENGTH + 16];
  CHECK_OK(MPI_File_get_info(file, &used));
  CHECK_OK(MPI_Info_get(used, "filename", sizeof text - 1, text, &flag));
  CHECK(flag && strcmp(text, own) == 0);
  CHECK_OK(MPI_Info_get(used, "file_perm", sizeof text - 1, text, &flag));
  CHECK(flag && strcmp(text, "0600") == 0);
  CHECK_OK(MPI_Info_get(used, "no_such_hint", sizeof text - 1, text, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_File_set_info(file, used));
  CHECK_OK(MPI_Info_free(&used));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_File_close(&file));
  CHECK(!exists(own));

  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK_OK(MPI_File_delete(name, MPI_INFO_NULL));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(!exists(name));
  return check_end();
}
