// Buffered sends: space is taken as long as nobody received, given back afterwards; buffers of communicators.
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  enum { LENGTH = 20000 }; // ints, beyond every eager size
  static int data[LENGTH], in[LENGTH];
  int packed, bytes, space;
  CHECK_OK(MPI_Pack_size(LENGTH, MPI_INT, MPI_COMM_WORLD, &packed));
  bytes = packed + MPI_BSEND_OVERHEAD;
  space = 3 * bytes;
  char *buffer = malloc(space);
  void *address = NULL;
  int length = -1;
  MPI_Request request;

  CHECK_CLASS(MPI_Buffer_detach(&address, &length), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bsend(data, 1, MPI_INT, right, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Buffer_attach(buffer, space));
  CHECK_CLASS(MPI_Buffer_attach(buffer, space), MPI_ERR_BUFFER);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 3; i++) {
      data[0] = 100 * rank + 10 * round + i;
      CHECK_OK(MPI_Bsend(data, LENGTH, MPI_INT, right, i, MPI_COMM_WORLD));
      data[0] = -1; // The data has been copied.
    }
    // A fourth one does not fit now: its receiver is this rank's neighbour, which is before the barrier, too.
    CHECK_CLASS(MPI_Bsend(data, LENGTH, MPI_INT, right, 3, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
      CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_EQUAL(in[0], 100 * left + 10 * round + i);
    }
    if (round == 0) {
      CHECK_OK(MPI_Buffer_flush());
    } else {
      CHECK_OK(MPI_Buffer_iflush(&request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  CHECK_CLASS(MPI_Bsend(data, space, MPI_INT, right, 3, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  // Detaching waits until the last message has left.
  data[0] = 5;
  CHECK_OK(MPI_Isend(data, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Bsend(data, LENGTH, MPI_INT, rank, 4, MPI_COMM_WORLD));
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  CHECK(address == buffer && length == space);
  memset(buffer, 0xff, space);
  CHECK_OK(MPI_Recv(in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // Detach in one rank while the neighbour is still to receive: only data that arrived is right.
  CHECK_OK(MPI_Buffer_attach_c(buffer, space));
  data[0] = 1000 + rank;
  CHECK_OK(MPI_Irecv(in, LENGTH, MPI_INT, left, 5, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Bsend(data, LENGTH, MPI_INT, right, 5, MPI_COMM_WORLD));
  MPI_Count long_length;
  CHECK_OK(MPI_Buffer_detach_c(&address, &long_length));
  memset(buffer, 0xff, space);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(in[0], 1000 + left);

  // A communicator's own buffer, and one the library manages.
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_attach_buffer(comm, buffer, bytes));
  CHECK_OK(MPI_Bsend(data, LENGTH, MPI_INT, right, 6, comm));
  CHECK_CLASS(MPI_Bsend(data, 1, MPI_INT, right, 6, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Comm_iflush_buffer(comm, &request));
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, left, 6, comm, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_flush_buffer(comm));
  CHECK_OK(MPI_Comm_detach_buffer(comm, &address, &length));
  CHECK(address == buffer && length == bytes);
  CHECK_CLASS(MPI_Comm_detach_buffer(comm, &address, &length), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  for (int i = 0; i < 10; i++)
    CHECK_OK(MPI_Bsend(data, LENGTH, MPI_INT, right, 7, comm));
  for (int i = 0; i < 10; i++)
    CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE));
  CHECK_EQUAL(in[0], 1000 + left);
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  MPI_Comm_free(&comm);
  free(buffer);
  return check_end();
}
