// The large-count form of every sending and receiving procedure does what its plain form does. Receives declare more
// elements than an int counts, so a count that were cut off would leave no room.
// weft-test: buffers=yes
#include "../check.h"
#include <sys/mman.h>

enum { SENDS = 12, RECEIVES = 5, N = 700 };

int main(int argc, char **argv) {
  int rank, size, flag;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const MPI_Count huge = (MPI_Count)1 << 32, n = N;
  int out[N], twin[N];
  // Memory for as many elements as receives declare, most of it never touched.
  size_t room = huge * sizeof(int);
  int *in = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (in == MAP_FAILED) {
    puts("skip: no address space for the receive buffers");
    MPI_Abort(MPI_COMM_WORLD, 77);
  }
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL, receive;
  MPI_Message message;
  MPI_Status status;
  MPI_Count count, length = 2 * (N * (MPI_Count)sizeof(int) + MPI_BSEND_OVERHEAD);
  void *buffer = malloc(length), *address;
  CHECK_OK(MPI_Comm_attach_buffer_c(comm, buffer, length));

  for (int s = 0; s < SENDS; s++)
    for (int r = 0; r < RECEIVES; r++) {
      int tag = 10 * s + r;
      for (int i = 0; i < N; i++)
        out[i] = rank * 100000 + 1000 * tag + i, in[i] = -1;
      // Ready mode and blocking synchronous sends need the receive first; so do all others here but for probes.
      int probes = r >= 3, ready = s == 2 || s == 3 || s == 6 || s == 11;
      if (probes && ready)
        continue;
      receive = MPI_REQUEST_NULL;
      if (r == 0)
        CHECK_OK(MPI_Irecv_c(in, huge, MPI_INT, left, tag, comm, &receive));
      if (r == 1 || (r == 2 && ready)) {
        CHECK_OK(MPI_Recv_init_c(in, huge, MPI_INT, left, tag, comm, &receive));
        CHECK_OK(MPI_Start(&receive));
      }
      MPI_Barrier(comm);
      switch (s) {
      case 0: CHECK_OK(MPI_Send_c(out, n, MPI_INT, right, tag, comm)); break;
      case 1: CHECK_OK(MPI_Bsend_c(out, n, MPI_INT, right, tag, comm)); break;
      case 2: CHECK_OK(MPI_Ssend_c(out, n, MPI_INT, right, tag, comm)); break;
      case 3: CHECK_OK(MPI_Rsend_c(out, n, MPI_INT, right, tag, comm)); break;
      case 4: CHECK_OK(MPI_Isend_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 5: CHECK_OK(MPI_Ibsend_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 6: CHECK_OK(MPI_Irsend_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 7: CHECK_OK(MPI_Issend_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 8: CHECK_OK(MPI_Send_init_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 9: CHECK_OK(MPI_Bsend_init_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      case 10: CHECK_OK(MPI_Ssend_init_c(out, n, MPI_INT, right, tag, comm, &request)); break;
      default: CHECK_OK(MPI_Rsend_init_c(out, n, MPI_INT, right, tag, comm, &request));
      }
      if (s >= 8)
        CHECK_OK(MPI_Start(&request));
      if (r == 3 || r == 4)
        CHECK_OK(MPI_Mprobe(left, tag, comm, &message, &status));
      if (r == 3)
        CHECK_OK(MPI_Mrecv_c(in, huge, MPI_INT, &message, &status));
      else if (r == 4)
        CHECK_OK(MPI_Imrecv_c(in, huge, MPI_INT, &message, &receive));
      else if (receive == MPI_REQUEST_NULL)
        CHECK_OK(MPI_Recv_c(in, huge, MPI_INT, left, tag, comm, &status));
      if (receive != MPI_REQUEST_NULL)
        CHECK_OK(MPI_Wait(&receive, &status));
      if (receive != MPI_REQUEST_NULL)
        CHECK_OK(MPI_Request_free(&receive));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      if (request != MPI_REQUEST_NULL)
        CHECK_OK(MPI_Request_free(&request));
      CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &count));
      CHECK(status.MPI_SOURCE == left && status.MPI_TAG == tag && count == N);
      for (int i = 0; i < N; i++)
        twin[i] = left * 100000 + 1000 * tag + i;
      CHECK(memcmp(in, twin, sizeof(twin)) == 0);
    }

  // Both ways in one call.
  for (int way = 0; way < 4; way++) {
    for (int i = 0; i < N; i++)
      out[i] = 7000 * rank + way, in[i] = -1;
    switch (way) {
    case 0:
      CHECK_OK(MPI_Sendrecv_c(out, n, MPI_INT, right, 1, in, huge, MPI_INT, left, 1, comm, &status));
      break;
    case 1:
      memcpy(in, out, sizeof(out));
      CHECK_OK(MPI_Sendrecv_replace_c(in, n, MPI_INT, right, 1, left, 1, comm, &status));
      break;
    case 2:
      CHECK_OK(MPI_Isendrecv_c(out, n, MPI_INT, right, 1, in, huge, MPI_INT, left, 1, comm, &request));
      break;
    default:
      memcpy(in, out, sizeof(out));
      CHECK_OK(MPI_Isendrecv_replace_c(in, n, MPI_INT, right, 1, left, 1, comm, &request));
    }
    if (way >= 2)
      CHECK_OK(MPI_Wait(&request, &status));
    CHECK_OK(MPI_Get_count_c(&status, MPI_INT, &count));
    CHECK(count == N && status.MPI_SOURCE == left && in[0] == 7000 * left + way && in[N - 1] == in[0]);
  }
  CHECK_OK(MPI_Comm_detach_buffer_c(comm, &address, &count));
  CHECK(address == buffer && count == length);
  free(buffer);

  // Counts that are wrong, and more bytes than there can be.
  CHECK_CLASS(MPI_Send_c(out, -huge, MPI_INT, MPI_PROC_NULL, 0, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Irecv_c(in, huge << 30, MPI_INT, MPI_PROC_NULL, 0, comm, &request), MPI_ERR_COUNT);
  CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status));
  CHECK_EQUAL(flag, 0);
  munmap(in, room);
  return check_end();
}
