// Messages of more than 2 GiB: blocking, with a derived type, truncated; and the counts that come with them.
// weft-test: ranks=2 schedulers=user part=threads,processes,hosts
#include "check.h"
#include <unistd.h>

static const MPI_Count GIB = (MPI_Count)1 << 30;

static unsigned char expected(MPI_Count i) { return (unsigned char)(i * 31 + (i >> 20)); }

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  if (sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) < 6.0 * GIB) {
    printf("skip: 6 GiB of free memory are needed\n");
    MPI_Finalize();
    return 77;
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Count count = 2 * GIB + 4097;
  unsigned char *data = malloc((size_t)count);
  CHECK(data != NULL);
  MPI_Status status;
  MPI_Count found = 0;
  int small = 0;
  if (rank == 0) {
    for (MPI_Count i = 0; i < count; i++) data[i] = expected(i);
    CHECK_OK(MPI_Send_c(data, count, MPI_UNSIGNED_CHAR, 1, 1, MPI_COMM_WORLD));
  } else {
    CHECK_OK(MPI_Recv_c(data, count, MPI_UNSIGNED_CHAR, 0, 1, MPI_COMM_WORLD, &status));
    CHECK_OK(MPI_Get_count_c(&status, MPI_UNSIGNED_CHAR, &found));
    CHECK(found == count);
    CHECK_OK(MPI_Get_count(&status, MPI_UNSIGNED_CHAR, &small));
    CHECK_EQUAL(small, MPI_UNDEFINED);
    MPI_Count wrong = 0;
    for (MPI_Count i = 0; i < count; i++) wrong += data[i] != expected(i);
    CHECK(wrong == 0);
    memset(data, 0, (size_t)count);
  }
  // Every other KiB: 1 GiB of data in 2 GiB, sent as a type, received as bytes.
  MPI_Datatype strided;
  CHECK_OK(MPI_Type_vector_c(GIB / 1024, 1024, 2048, MPI_UNSIGNED_CHAR, &strided));
  CHECK_OK(MPI_Type_commit(&strided));
  if (rank == 0) {
    CHECK_OK(MPI_Send_c(data, 1, strided, 1, 2, MPI_COMM_WORLD));
  } else {
    MPI_Request request;
    CHECK_OK(MPI_Irecv_c(data, count, MPI_UNSIGNED_CHAR, 0, 2, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Get_count_c(&status, MPI_UNSIGNED_CHAR, &found));
    CHECK(found == GIB);
    for (MPI_Count block = 0; block < GIB / 1024; block += 1021)
      CHECK(data[block * 1024 + 5] == expected(block * 2048 + 5));
  }
  MPI_Type_free(&strided);
  // Too long for the buffer: the error, and nothing written behind it.
  if (rank == 0) {
    CHECK_OK(MPI_Send_c(data, count, MPI_UNSIGNED_CHAR, 1, 3, MPI_COMM_WORLD));
  } else {
    data[100] = 7;
    CHECK_CLASS(MPI_Recv_c(data, 100, MPI_UNSIGNED_CHAR, 0, 3, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    CHECK(data[99] == expected(99) && data[100] == 7);
  }
  free(data);
  return check_end();
}
