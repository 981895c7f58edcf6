// Wrong uses of partitioned communication give the right class and leave the operation as it was.
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size, flag;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0}, list[3] = {0, 1, 4};
  MPI_Request send, receive, other;
  MPI_Status status;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Info none = MPI_INFO_NULL;

  CHECK_CLASS(MPI_Psend_init(out, 0, 1, MPI_INT, 0, 0, world, none, &send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Psend_init(out, -1, 1, MPI_INT, 0, 0, world, none, &send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Psend_init(out, 1, -1, MPI_INT, 0, 0, world, none, &send), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Psend_init(out, 1 << 30, (MPI_Count)1 << 32, MPI_INT, 0, 0, world, none, &send), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_DATATYPE_NULL, 0, 0, world, none, &send), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, size, 0, world, none, &send), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, none, &send), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, none, &send), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, none, &send), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, world, none, &send), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, 0, 0, world, none, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Psend_init(out, 1, 1, MPI_INT, 0, 0, world, (MPI_Info)4711, &send), MPI_ERR_INFO);
  CHECK_CLASS(MPI_Precv_init(in, 0, 1, MPI_INT, 0, 0, world, none, &receive), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, none, &receive), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, none, &receive), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, size, 0, world, none, &receive), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Precv_init(in, 1, 1, MPI_INT, 0, -4, world, none, &receive), MPI_ERR_TAG);

  // To itself, so that nothing depends on when others get there.
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Psend_init(out, 4, 2, MPI_INT, rank, 1, world, info, &send));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Precv_init(in, 4, 2, MPI_INT, rank, 1, world, none, &receive));
  CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST); // Inactive.
  CHECK_CLASS(MPI_Pready_range(0, 1, send), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready_list(1, list, send), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&send), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Parrived(receive, 3, &flag)); // Inactive: true.
  CHECK_EQUAL(flag, 1);
  flag = 0;
  CHECK_OK(MPI_Parrived(MPI_REQUEST_NULL, 17, &flag));
  CHECK_EQUAL(flag, 1);
  CHECK_CLASS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Parrived(receive, 4, &flag), MPI_ERR_ARG);

  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Start(&send));
  CHECK_CLASS(MPI_Start(&send), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Pready(4, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready(-1, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_range(2, 4, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_list(3, list, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_list(-1, list, send), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG);
  for (int p = 0; p < 4; p++) { // None of those calls made anything ready.
    CHECK_OK(MPI_Parrived(receive, p, &flag));
    CHECK_EQUAL(flag, 0);
  }
  CHECK_CLASS(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Cancel(&send), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Cancel(&receive), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Request_free(&send), MPI_ERR_REQUEST); // Active.
  CHECK_CLASS(MPI_Request_free(&receive), MPI_ERR_REQUEST);
  CHECK(send != MPI_REQUEST_NULL && receive != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Pready(1, send));
  CHECK_CLASS(MPI_Pready(1, send), MPI_ERR_ARG); // Ready already.
  CHECK_OK(MPI_Pready(0, send));
  CHECK_OK(MPI_Pready_range(2, 3, send));
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&receive, &status));
  CHECK(memcmp(in, out, sizeof(in)) == 0);
  CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST);
  MPI_Request copies[2] = {send, receive};
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
  CHECK_CLASS(MPI_Pready(0, copies[0]), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Parrived(copies[1], 0, &flag), MPI_ERR_REQUEST);

  // Other kinds of requests have no partitions.
  CHECK_OK(MPI_Recv_init(in, 1, MPI_INT, rank, 2, world, &other));
  CHECK_CLASS(MPI_Pready(0, other), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Parrived(other, 0, &flag), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Request_free(&other));

  // Sizes that differ: too much is cut off, and the receiver hears of it either way.
  for (int length = 1; length < 4; length++) {
    memset(in, 0, sizeof(in));
    CHECK_OK(MPI_Psend_init(out, 2, 2, MPI_INT, rank, 3, world, none, &send));
    CHECK_OK(MPI_Precv_init(in, 2, length, MPI_INT, rank, 3, world, none, &receive));
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Pready_range(0, 1, send));
    CHECK_OK(MPI_Start(&receive));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_CLASS(MPI_Wait(&receive, &status), length == 1 ? MPI_ERR_TRUNCATE : length == 2 ? MPI_SUCCESS : MPI_ERR_COUNT);
    CHECK(in[0] == 1 && in[1] == 2);
    CHECK_EQUAL(in[2], length == 1 ? 0 : 3);
    CHECK_EQUAL(in[4], 0);
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&receive));
  }
  return check_end();
}
