// Ranks of point-to-point calls on an intercommunicator are those of the other side: partitioned, persistent, buffered
// and paired operations, matched probes, cancels, and ranks that the other side does not have.
// weft-test: ranks=2,3,4,17
#include "../check.h"

int main(int argc, char **argv) {
  int rank, size, mine, theirs, count, flag;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // One rank on the first side, all others on the second one.
  int side = rank > 0, local;
  MPI_Comm part, inter;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &part));
  CHECK_OK(MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side ? 0 : 1, 3, &inter));
  CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  MPI_Comm_size(inter, &mine);
  MPI_Comm_remote_size(inter, &theirs);
  MPI_Comm_rank(inter, &local);
  enum { LENGTH = 2000, MANY = 16 };
  static int out[MANY][LENGTH], in[MANY][LENGTH];
  MPI_Request sends[MANY], receives[MANY];
  MPI_Status status, statuses[MANY];
  MPI_Message message;
  void *buffer = malloc(MANY * (LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD)), *address;
  CHECK_OK(MPI_Comm_attach_buffer(inter, buffer, MANY * (LENGTH * (int)sizeof(int) + MPI_BSEND_OVERHEAD)));

  for (int way = 0; way < 4; way++) {
    for (int r = 0; r < theirs; r++) {
      for (int i = 0; i < LENGTH; i++)
        out[r][i] = way * 1000000 + rank * 10000 + r * 100 + i % 100, in[r][i] = -1;
      switch (way) {
      case 0:
        CHECK_OK(MPI_Psend_init(out[r], 4, LENGTH / 4, MPI_INT, r, 1, inter, MPI_INFO_NULL, &sends[r]));
        CHECK_OK(MPI_Precv_init(in[r], 5, LENGTH / 5, MPI_INT, r, 1, inter, MPI_INFO_NULL, &receives[r]));
        break;
      case 1:
        CHECK_OK(MPI_Ssend_init(out[r], LENGTH, MPI_INT, r, 1, inter, &sends[r]));
        CHECK_OK(MPI_Recv_init(in[r], LENGTH, MPI_INT, r, MPI_ANY_TAG, inter, &receives[r]));
        break;
      case 2:
        CHECK_OK(MPI_Bsend_init(out[r], LENGTH, MPI_INT, r, 1, inter, &sends[r]));
        CHECK_OK(MPI_Recv_init(in[r], LENGTH, MPI_INT, r, 1, inter, &receives[r]));
        break;
      default:
        CHECK_OK(MPI_Isendrecv(out[r], LENGTH, MPI_INT, r, 1, in[r], LENGTH, MPI_INT, r, 1, inter, &receives[r]));
        sends[r] = MPI_REQUEST_NULL;
      }
    }
    if (way < 3) {
      CHECK_OK(MPI_Startall(theirs, receives));
      CHECK_OK(MPI_Startall(theirs, sends));
    }
    for (int r = 0; r < theirs && way == 0; r++)
      CHECK_OK(MPI_Pready_range(0, 3, sends[r]));
    CHECK_OK(MPI_Waitall(theirs, receives, statuses));
    CHECK_OK(MPI_Waitall(theirs, sends, MPI_STATUSES_IGNORE));
    for (int r = 0; r < theirs; r++) {
      int world = side ? 0 : r + 1, first = way * 1000000 + world * 10000 + local * 100;
      CHECK_OK(MPI_Get_count(&statuses[r], MPI_INT, &count));
      CHECK(statuses[r].MPI_SOURCE == r && statuses[r].MPI_TAG == 1 && count == LENGTH);
      CHECK(in[r][0] == first && in[r][LENGTH - 1] == first + 99);
      if (way < 3) {
        CHECK_OK(MPI_Request_free(&sends[r]));
        CHECK_OK(MPI_Request_free(&receives[r]));
      }
    }
  }

  // Each of the many exchanges with the one, which does not know who is next.
  if (side) {
    out[0][0] = rank;
    CHECK_OK(MPI_Bsend(out[0], LENGTH, MPI_INT, 0, 2, inter));
    CHECK_OK(MPI_Sendrecv_replace(out[0], 1, MPI_INT, 0, 3, 0, 3, inter, &status));
    CHECK(out[0][0] == -rank && status.MPI_SOURCE == 0);
  } else {
    for (int k = 0; k < theirs; k++) {
      int source = -1, answer;
      CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 2, inter, &message, &status));
      source = status.MPI_SOURCE;
      CHECK_OK(MPI_Mrecv(in[0], LENGTH, MPI_INT, &message, &status));
      CHECK(status.MPI_SOURCE == source && in[0][0] == source + 1);
      answer = -in[0][0];
      CHECK_OK(MPI_Sendrecv_replace(&answer, 1, MPI_INT, source, 3, source, 3, inter, &status));
      CHECK(answer == source + 1);
    }
  }
  CHECK_OK(MPI_Comm_flush_buffer(inter));
  CHECK_OK(MPI_Comm_detach_buffer(inter, &address, &count));
  free(buffer);

  CHECK_OK(MPI_Issend(out[0], 1, MPI_INT, theirs - 1, 4, inter, &sends[0]));
  CHECK_OK(MPI_Irecv(in[0], 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, &receives[0]));
  CHECK_OK(MPI_Cancel(&sends[0]));
  CHECK_OK(MPI_Cancel(&receives[0]));
  CHECK_OK(MPI_Wait(&sends[0], &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQUAL(flag, 1);
  CHECK_OK(MPI_Wait(&receives[0], &status));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &flag, &status));
  CHECK_EQUAL(flag, 0);

  CHECK_CLASS(MPI_Send(out[0], 1, MPI_INT, theirs, 0, inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(in[0], 1, MPI_INT, theirs, 0, inter, &status), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Psend_init(out[0], 1, 1, MPI_INT, theirs, 0, inter, MPI_INFO_NULL, &sends[0]), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Precv_init(in[0], 1, 1, MPI_INT, theirs, 0, inter, MPI_INFO_NULL, &receives[0]), MPI_ERR_RANK);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&part);
  return check_end();
}
