// Ranks write blocks to the file argv[1], argv[2] says how, until the file system is full. Every byte that was reported as written
// must be there after the error, and again after room has been made.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16384, LIMIT = 1000 };

static int rank, size;
static char block[BLOCK], back[BLOCK];

static void fill(int number) {
  memset(block, 1 + (number * size + rank) % 250, BLOCK);
}

static MPI_Offset place(int number) {
  return ((MPI_Offset)number * size + rank) * BLOCK;
}

// Compares the first blocks of this rank, and returns how many differ.
static int lost(MPI_File file, int count) {
  int found = 0;
  for (int number = 0; number < count; number++) {
    MPI_Status status;
    int bytes = 0;
    fill(number);
    memset(back, 0, BLOCK);
    if (MPI_File_read_at(file, place(number), back, BLOCK, MPI_BYTE, &status) == MPI_SUCCESS)
      MPI_Get_count(&status, MPI_BYTE, &bytes);
    found += bytes != BLOCK || memcmp(block, back, BLOCK) != 0;
  }
  return found;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *how = argv[2];
  MPI_File file;
  int code = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  if (code != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 2);
  int written = 0, class = MPI_SUCCESS, any = 0;
  while (!any && written < LIMIT) {
    MPI_Request request;
    fill(written);
    if (!strcmp(how, "collective"))
      code = MPI_File_write_at_all(file, place(written), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "independent"))
      code = MPI_File_write_at(file, place(written), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    else if ((code = MPI_File_iwrite_at(file, place(written), block, BLOCK, MPI_BYTE, &request)) == MPI_SUCCESS)
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS)
      written++;
    else
      MPI_Error_class(code, &class);
    int failed = code != MPI_SUCCESS;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  int wrong = class != MPI_SUCCESS && class != MPI_ERR_NO_SPACE, all[3], mine[3] = {wrong, class == MPI_ERR_NO_SPACE, lost(file, written)};
  if (class != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    if (!strstr(text, argv[1])) {
      fprintf(stderr, "the message does not name the file: %s\n", text);
      mine[0] = 1;
    }
  }
  MPI_Allreduce(mine, all, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // The file system gives room back: what was written last may go, and writing goes on.
  int keep = written > 1 ? written / 2 : 0, least;
  MPI_Allreduce(&keep, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  int again = MPI_File_set_size(file, (MPI_Offset)least * size * BLOCK) != MPI_SUCCESS;
  fill(least);
  again += MPI_File_write_at_all(file, place(least), block, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  again += MPI_File_sync(file) != MPI_SUCCESS;
  again += lost(file, least + 1);
  again += MPI_File_close(&file) != MPI_SUCCESS;
  int bad;
  MPI_Allreduce(&again, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("wrong classes %d, lost %d, wrong later %d, full %s\n", all[0], all[2], bad, all[1] > 0 ? "yes" : "no");
  MPI_Finalize();
  return all[0] || all[2] || bad || all[1] == 0;
}
