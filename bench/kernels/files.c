// Collective operations on a file of 192^3 doubles: each rank's part at once; columns of blocks, which are many short pieces of the
// file; slabs, which are one; records of 100 bytes in turns. Beside what the system takes for a part at once, in samples that begin
// with `floor-`. The file is a new one each time. Sizes are numbers of ranks.
//
// usage: files FOLDER NAME [BATCHES]
//   NAME is added to the names of samples.
#include "sample.h"
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 192, RECORD = 100 };
static int rank, ranks;
static const char *suffix;
static char path[4096];
static double *buffer;
static MPI_File file;

// Prints a sample of what has begun at a time; it has ended when the last rank has.
static void tell(const char *name, double start) {
  char whole[256];
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(whole, sizeof whole, "file-%s-%s", name, suffix);
  if (rank == 0) sample(whole, ranks, (MPI_Wtime() - start) * 1e9);
}

static double begin(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

static void check(int code, const char *what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "files: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void open_file(int extra) {
  check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | extra, MPI_INFO_NULL, &file), "MPI_File_open");
}

// Writes a new file through a view, reads it again, and as slabs.
static void measure(const char *name, MPI_Offset displacement, MPI_Datatype filetype, int count, MPI_Datatype type, int slabs) {
  char text[64];
  if (rank == 0) unlink(path);
  MPI_Barrier(MPI_COMM_WORLD);
  open_file(MPI_MODE_CREATE);
  check(MPI_File_set_view(file, displacement, type, filetype, "native", MPI_INFO_NULL), "MPI_File_set_view");
  double start = begin();
  check(MPI_File_write_at_all(file, 0, buffer, count, type, MPI_STATUS_IGNORE), "MPI_File_write_at_all");
  snprintf(text, sizeof text, "%s-write", name);
  tell(text, start);
  start = begin();
  check(MPI_File_read_at_all(file, 0, buffer, count, type, MPI_STATUS_IGNORE), "MPI_File_read_at_all");
  snprintf(text, sizeof text, "%s-read", name);
  tell(text, start);
  for (int i = 0; i < count; i += 97)
    if (type == MPI_DOUBLE && buffer[i] != rank + 1) check(MPI_ERR_OTHER, "comparing what was read");
  if (slabs) {
    check(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL), "MPI_File_set_view");
    double *slab = malloc((size_t)count * sizeof(double));
    memset(slab, 0, (size_t)count * sizeof(double));
    start = begin();
    check(MPI_File_read_at_all(file, (MPI_Offset)rank * count, slab, count, MPI_DOUBLE, MPI_STATUS_IGNORE), "MPI_File_read_at_all");
    tell("slabs-read", start);
    free(slab);
  }
  MPI_File_close(&file);
}

// What the system takes for each rank's part at once.
static void floors(size_t bytes) {
  if (rank == 0) unlink(path), close(open(path, O_CREAT | O_RDWR, 0600));
  MPI_Barrier(MPI_COMM_WORLD);
  int descriptor = open(path, O_RDWR);
  double start = begin();
  for (size_t done = 0; done < bytes;) {
    ssize_t moved = pwrite(descriptor, (char *)buffer + done, bytes - done, (off_t)(rank * bytes + done));
    if (moved <= 0) check(MPI_ERR_OTHER, "pwrite");
    done += (size_t)moved;
  }
  tell("floor-write", start);
  start = begin();
  for (size_t done = 0; done < bytes;) {
    ssize_t moved = pread(descriptor, (char *)buffer + done, bytes - done, (off_t)(rank * bytes + done));
    if (moved <= 0) check(MPI_ERR_OTHER, "pread");
    done += (size_t)moved;
  }
  tell("floor-read", start);
  close(descriptor);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  suffix = argc > 2 ? argv[2] : "here";
  int batches = argc > 3 ? atoi(argv[3]) : 3, dims[2] = {0, 0};
  snprintf(path, sizeof path, "%s/weft-bench-files", argc > 1 ? argv[1] : ".");
  MPI_Dims_create(ranks, 2, dims);
  if (SIDE % ranks || SIDE % dims[0] || SIDE % dims[1]) check(MPI_ERR_OTHER, "dividing 192 by the number of ranks");
  int count = SIDE * SIDE * (SIDE / ranks);
  size_t bytes = (size_t)count * sizeof(double);
  buffer = malloc(bytes);
  for (int i = 0; i < count; i++) buffer[i] = rank + 1;
  int sizes[3] = {SIDE, SIDE, SIDE}, parts[3] = {SIDE, SIDE / dims[0], SIDE / dims[1]};
  int starts[3] = {0, rank / dims[1] * parts[1], rank % dims[1] * parts[2]};
  MPI_Datatype columns, block, records;
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &columns);
  MPI_Type_contiguous(RECORD, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)RECORD * ranks, &records);
  MPI_Type_commit(&columns), MPI_Type_commit(&records);
  for (int batch = 0; batch < batches; batch++) {
    floors(bytes);
    measure("contiguous", (MPI_Offset)rank * (MPI_Offset)bytes, MPI_DOUBLE, count, MPI_DOUBLE, 0);
    measure("columns", 0, columns, count, MPI_DOUBLE, 1);
    measure("records", (MPI_Offset)rank * RECORD, records, (int)(bytes / 8 / RECORD * RECORD), MPI_BYTE, 0);
  }
  if (rank == 0) unlink(path);
  MPI_Type_free(&columns), MPI_Type_free(&block), MPI_Type_free(&records);
  free(buffer);
  MPI_Finalize();
  return 0;
}
