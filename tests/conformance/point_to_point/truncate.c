// A message longer than the receive buffer: every way of receiving reports it, keeps what fits, writes nothing behind
// it, uses the message up, and leaves the sender, the next message and a persistent request in good order.
#include "../check.h"

enum { SPACE = 3, WAYS = 14, LENGTHS = 4 };
static const int lengths[LENGTHS] = {4, 15, 600, 70000};

static int rank, left, right;
static int *out, in[8];

// Checks a truncated receive of `length` numbers with tag `tag`.
static void check(const MPI_Status *status, int length, int tag) {
  int count = -1;
  if (status != MPI_STATUS_IGNORE) {
    CHECK_EQUAL(status->MPI_SOURCE, left);
    CHECK_EQUAL(status->MPI_TAG, tag);
    CHECK_OK(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQUAL(count, SPACE);
  }
  for (int i = 0; i < 8; i++)
    CHECK_EQUAL(in[i], i < SPACE ? left * 100000 + length + i : -1);
}

int main(int argc, char **argv) {
  int size, index, flag, count, indices[2];
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  out = malloc(lengths[LENGTHS - 1] * sizeof(int));
  MPI_Datatype scattered; // SPACE numbers, in memory at 0, 1, 2 all the same
  CHECK_OK(MPI_Type_indexed(2, (int[]){1, 2}, (int[]){0, 1}, MPI_INT, &scattered));
  CHECK_OK(MPI_Type_commit(&scattered));
  for (int mode = 0; mode < 3; mode++)
    for (int l = 0; l < LENGTHS; l++)
      for (int way = 0; way < WAYS; way++) {
        int length = lengths[l], tag = way, after = -1, mark = 1000 * way + l;
        MPI_Request send, request = MPI_REQUEST_NULL, two[2];
        MPI_Status status, statuses[2];
        MPI_Message message;
        status.MPI_ERROR = 4711;
        for (int i = 0; i < length; i++)
          out[i] = rank * 100000 + length + i;
        memset(in, -1, sizeof(in));
        int posted = way == 1 || way == 2 || way == 6 || (way >= 9 && way < 13);
        int receives_itself = way == 3 || way == 4 || way == 7 || way == 8; // as one call with its send
        if (posted) {
          if (way == 6) {
            CHECK_OK(MPI_Recv_init(in, SPACE, MPI_INT, left, tag, MPI_COMM_WORLD, &request));
            CHECK_OK(MPI_Start(&request));
          } else {
            CHECK_OK(MPI_Irecv(in, SPACE, MPI_INT, way % 2 ? left : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request));
          }
          MPI_Barrier(MPI_COMM_WORLD);
        }
        if (!receives_itself) {
          if (mode == 0)
            CHECK_OK(MPI_Isend(out, length, MPI_INT, right, tag, MPI_COMM_WORLD, &send));
          else if (mode == 1)
            CHECK_OK(MPI_Issend(out, length, MPI_INT, right, tag, MPI_COMM_WORLD, &send));
          else
            CHECK_OK(MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &send));
          if (mode == 2) {
            CHECK_OK(MPI_Send_init(out, length, MPI_INT, right, tag, MPI_COMM_WORLD, &send));
            CHECK_OK(MPI_Start(&send));
          }
        }
        switch (way) {
        case 0:
          CHECK_CLASS(MPI_Recv(in, SPACE, MPI_INT, left, tag, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
          break;
        case 1:
        case 6:
          CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
          break;
        case 2: {
          int code = MPI_SUCCESS;
          for (flag = 0; !flag;)
            code = MPI_Test(&request, &flag, &status);
          CHECK_CLASS(code, MPI_ERR_TRUNCATE);
          break;
        }
        case 3:
          CHECK_CLASS(MPI_Sendrecv(out, length, MPI_INT, right, tag, in, SPACE, MPI_INT, left, tag, MPI_COMM_WORLD,
                                   &status), MPI_ERR_TRUNCATE);
          break;
        case 4: // In place the buffer must hold what is sent: SPACE numbers, of which the first come back too long.
          memcpy(in, out, SPACE * sizeof(int));
          CHECK_OK(MPI_Isend(out, length, MPI_INT, right, tag, MPI_COMM_WORLD, &send));
          CHECK_CLASS(MPI_Sendrecv_replace(in, SPACE, MPI_INT, right, 50, left, tag, MPI_COMM_WORLD, &status),
                      MPI_ERR_TRUNCATE);
          CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
          CHECK_OK(MPI_Recv(&after, 0, MPI_INT, MPI_PROC_NULL, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
          break;
        case 5:
          CHECK_CLASS(MPI_Recv(in, 1, scattered, left, tag, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
          break;
        case 7:
          CHECK_OK(MPI_Isendrecv(out, length, MPI_INT, right, tag, in, SPACE, MPI_INT, left, tag, MPI_COMM_WORLD,
                                 &request));
          CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
          break;
        case 8:
          CHECK_OK(MPI_Isend(out, length, MPI_INT, right, tag, MPI_COMM_WORLD, &send));
          CHECK_OK(MPI_Isendrecv_replace(in, SPACE, MPI_INT, MPI_PROC_NULL, 50, left, tag, MPI_COMM_WORLD, &request));
          CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
          CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
          break;
        case 9: // Alone in a list: as the call for one.
          CHECK_CLASS(MPI_Waitany(1, &request, &index, &status), MPI_ERR_TRUNCATE);
          CHECK_EQUAL(index, 0);
          break;
        case 10: {
          int code = MPI_SUCCESS;
          for (flag = 0; !flag;)
            code = MPI_Testany(1, &request, &index, &flag, &status);
          CHECK_CLASS(code, MPI_ERR_TRUNCATE);
          CHECK_EQUAL(index, 0);
          break;
        }
        case 11:
          CHECK_CLASS(MPI_Waitsome(1, &request, &count, indices, statuses), MPI_ERR_IN_STATUS);
          CHECK(count == 1 && indices[0] == 0);
          CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
          status = statuses[0], status.MPI_ERROR = 4711;
          break;
        case 12: // Beside one that is fine, and statuses nobody wants.
          two[0] = MPI_REQUEST_NULL, two[1] = request;
          CHECK_CLASS(MPI_Waitall(2, two, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
          CHECK(two[1] == MPI_REQUEST_NULL);
          request = MPI_REQUEST_NULL;
          status.MPI_SOURCE = left, status.MPI_TAG = tag;
          CHECK_OK(MPI_Status_set_elements(&status, MPI_INT, SPACE));
          break;
        default:
          CHECK_OK(MPI_Mprobe(left, tag, MPI_COMM_WORLD, &message, &status));
          CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
          CHECK_EQUAL(count, length);
          if (mode == 1) {
            CHECK_CLASS(MPI_Mrecv(in, SPACE, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
          } else {
            CHECK_OK(MPI_Imrecv(in, SPACE, MPI_INT, &message, &request));
            CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
          }
          CHECK(message == MPI_MESSAGE_NULL);
        }
        CHECK_EQUAL(status.MPI_ERROR, 4711);
        check(&status, length, tag);
        if (!receives_itself)
          CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        if (!receives_itself && mode == 2)
          CHECK_OK(MPI_Request_free(&send));
        if (way == 6) { // Inactive now, and good for the next message.
          CHECK(request != MPI_REQUEST_NULL);
          CHECK_OK(MPI_Start(&request));
          CHECK_OK(MPI_Send(&mark, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
          CHECK_OK(MPI_Wait(&request, &status));
          CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
          CHECK(count == 1 && in[0] == mark && in[1] == left * 100000 + length + 1);
          CHECK_OK(MPI_Request_free(&request));
        }
        CHECK(request == MPI_REQUEST_NULL);
        if (way == 4) { // What the calls in place have sent.
          CHECK_OK(MPI_Recv(in, SPACE, MPI_INT, left, 50, MPI_COMM_WORLD, &status));
          CHECK_EQUAL(in[0], left * 100000 + length);
        }
        // Nothing is left of it, and the next message is whole.
        CHECK_OK(MPI_Sendrecv(&mark, 1, MPI_INT, right, 60, &after, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                              &status));
        CHECK(after == mark && status.MPI_TAG == 60);
        MPI_Barrier(MPI_COMM_WORLD);
      }
  MPI_Type_free(&scattered);
  free(out);
  return check_end();
}
