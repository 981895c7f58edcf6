// Which buffer a buffered send uses: its communicator's, else that of the session the communicator comes from, else
// the process's; never two together. Attaching, flushing and detaching at each level, with memory and automatic.
// weft-test: needs=MPI_Comm_create_from_group
#include "../check.h"

enum { LENGTH = 80000 };  // bytes, beyond every eager size
static char out[LENGTH], in[LENGTH];
static int rank, size, left, right;

static int fill(int fit) { return fit * (LENGTH + MPI_BSEND_OVERHEAD); }

// Sends as many messages as fit and returns how many; they are received, and the flush sees them go.
static int room(MPI_Comm comm, int bytes) {
  int sent = 0, theirs = -1, code;
  MPI_Errhandler handler;
  CHECK_OK(MPI_Comm_get_errhandler(comm, &handler));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  for (;;) {
    memset(out, sent + rank, LENGTH);
    code = sent < 10 ? MPI_Bsend(out, bytes, MPI_BYTE, right, 1, comm) : MPI_ERR_BUFFER;
    if (code != MPI_SUCCESS)
      break;
    sent++;
  }
  CHECK_CLASS(code, MPI_ERR_BUFFER);
  CHECK_OK(MPI_Barrier(comm)); // Nobody receives before everybody has seen how many fit.
  CHECK_OK(MPI_Sendrecv(&sent, 1, MPI_INT, right, 2, &theirs, 1, MPI_INT, left, 2, comm, MPI_STATUS_IGNORE));
  for (int i = 0; i < theirs; i++) {
    in[0] = in[bytes - 1] = -1;
    CHECK_OK(MPI_Recv(in, LENGTH, MPI_BYTE, left, 1, comm, MPI_STATUS_IGNORE));
    CHECK(in[0] == (char)(i + left) && in[bytes - 1] == (char)(i + left));
  }
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
  CHECK_OK(MPI_Errhandler_free(&handler));
  return sent;
}

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, derived, other;
  MPI_Request request;
  void *address;
  int length, flag;
  MPI_Count long_length;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size, right = (rank + 1) % size;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "weft/buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_dup(comm, &derived)); // Comes from the session, too.
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));

  // Nothing attached anywhere.
  CHECK_CLASS(MPI_Session_detach_buffer(session, &address, &length), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Session_flush_buffer(session), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Session_iflush_buffer(session, &request), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Comm_flush_buffer(comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Buffer_flush(), MPI_ERR_BUFFER);
  CHECK_EQUAL(room(comm, 1), 0);
  CHECK_EQUAL(room(MPI_COMM_WORLD, 1), 0);

  char *memory[3];
  for (int i = 0; i < 3; i++)
    memory[i] = malloc(fill(6));
  CHECK_OK(MPI_Buffer_attach(memory[0], fill(1)));
  CHECK_EQUAL(room(comm, LENGTH), 1);
  CHECK_EQUAL(room(other, LENGTH), 1);
  CHECK_OK(MPI_Session_attach_buffer(session, memory[1], fill(2)));
  CHECK_CLASS(MPI_Session_attach_buffer(session, memory[1], fill(2)), MPI_ERR_BUFFER);
  CHECK_EQUAL(room(comm, LENGTH), 2); // The session's alone, not what the process has besides.
  CHECK_EQUAL(room(derived, LENGTH), 2);
  CHECK_EQUAL(room(other, LENGTH), 1); // From the world model: not of the session.
  CHECK_EQUAL(room(MPI_COMM_WORLD, LENGTH), 1);
  CHECK_OK(MPI_Comm_attach_buffer(comm, memory[2], fill(3)));
  CHECK_CLASS(MPI_Comm_attach_buffer(comm, memory[2], fill(3)), MPI_ERR_BUFFER);
  CHECK_EQUAL(room(comm, LENGTH), 3);
  CHECK_EQUAL(room(derived, LENGTH), 2);
  CHECK_EQUAL(room(other, LENGTH), 1);

  // A flush of one level does not wait for another: the message in the communicator's buffer stays there meanwhile.
  CHECK_OK(MPI_Bsend(out, LENGTH, MPI_BYTE, right, 3, comm));
  CHECK_OK(MPI_Bsend(out, LENGTH, MPI_BYTE, right, 3, derived));
  CHECK_OK(MPI_Buffer_flush());
  CHECK_OK(MPI_Session_iflush_buffer(session, &request));
  CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  CHECK_EQUAL(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_BYTE, left, 3, derived, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Session_flush_buffer(session));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_iflush_buffer(comm, &request));
  CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  CHECK_EQUAL(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_BYTE, left, 3, comm, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // Detaching waits: the memory may be used for something else at once.
  memset(out, 7, LENGTH);
  CHECK_OK(MPI_Irecv(in, LENGTH, MPI_BYTE, left, 4, derived, &request));
  CHECK_OK(MPI_Bsend(out, LENGTH, MPI_BYTE, right, 4, derived));
  CHECK_OK(MPI_Session_detach_buffer_c(session, &address, &long_length));
  memset(memory[1], -1, fill(2));
  CHECK(address == memory[1] && long_length == fill(2));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(in[0] == 7 && in[LENGTH - 1] == 7);
  CHECK_EQUAL(room(derived, LENGTH), 1); // The process's again.
  CHECK_OK(MPI_Comm_detach_buffer_c(comm, &address, &long_length));
  CHECK(address == memory[2] && long_length == fill(3));
  CHECK_EQUAL(room(comm, LENGTH), 1);
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  CHECK(address == memory[0] && length == fill(1));
  CHECK_EQUAL(room(comm, 1), 0);

  // Automatic at one level: as much as is sent there, and only there. It is a buffer like another.
  for (int level = 0; level < 3; level++) {
    if (level == 0)
      CHECK_OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, -5)); // The size does not matter.
    else if (level == 1)
      CHECK_OK(MPI_Session_attach_buffer_c(session, MPI_BUFFER_AUTOMATIC, 0));
    else
      CHECK_OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    CHECK_EQUAL(room(comm, LENGTH), 10);
    CHECK_EQUAL(room(derived, LENGTH), level >= 1 ? 10 : 0);
    CHECK_EQUAL(room(other, LENGTH), level >= 2 ? 10 : 0);
    address = NULL;
    if (level == 0) {
      CHECK_CLASS(MPI_Comm_attach_buffer(comm, memory[0], 100), MPI_ERR_BUFFER);
      CHECK_OK(MPI_Comm_flush_buffer(comm));
      CHECK_OK(MPI_Comm_detach_buffer(comm, &address, &length));
    } else if (level == 1) {
      CHECK_CLASS(MPI_Session_attach_buffer(session, memory[0], 100), MPI_ERR_BUFFER);
      CHECK_OK(MPI_Session_flush_buffer(session));
      CHECK_OK(MPI_Session_detach_buffer(session, &address, &length));
    } else {
      CHECK_CLASS(MPI_Buffer_attach(memory[0], 100), MPI_ERR_BUFFER);
      CHECK_OK(MPI_Buffer_flush());
      CHECK_OK(MPI_Buffer_detach(&address, &length));
    }
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    CHECK_EQUAL(room(comm, 1), 0);
  }

  // A buffered persistent send takes its space when it is started; without space its start fails and it stays inactive.
  CHECK_OK(MPI_Bsend_init(out, LENGTH, MPI_BYTE, right, 5, derived, &request));
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_BUFFER);
  CHECK_OK(MPI_Session_attach_buffer(session, memory[1], fill(1)));
  CHECK_OK(MPI_Start(&request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_BUFFER); // The first message is still there.
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_BYTE, left, 5, derived, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Session_flush_buffer(session));
  CHECK_OK(MPI_Start(&request));
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_BYTE, left, 5, derived, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Request_free(&request));
  CHECK_OK(MPI_Session_detach_buffer(session, &address, &length));

  // Space is taken behind the newest message, then at the start: two messages of 40 fit beside one of 20 that is
  // still there after one of 40 has gone. Only MPI_Send decides who is first, so this rank talks to itself.
  int unit = 20 * 400;
  CHECK_OK(MPI_Comm_attach_buffer(MPI_COMM_SELF, memory[0], 5 * unit));
  CHECK_OK(MPI_Bsend(memory[1], 2 * unit - MPI_BSEND_OVERHEAD, MPI_BYTE, 0, 1, MPI_COMM_SELF));
  CHECK_OK(MPI_Bsend(memory[1], unit - MPI_BSEND_OVERHEAD, MPI_BYTE, 0, 2, MPI_COMM_SELF));
  CHECK_OK(MPI_Recv(memory[2], 5 * unit, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Bsend(memory[1], unit - MPI_BSEND_OVERHEAD, MPI_BYTE, 0, 3, MPI_COMM_SELF));
  CHECK_OK(MPI_Bsend(memory[1], 2 * unit - MPI_BSEND_OVERHEAD, MPI_BYTE, 0, 4, MPI_COMM_SELF));
  CHECK_OK(MPI_Bsend(memory[1], unit - MPI_BSEND_OVERHEAD, MPI_BYTE, 0, 5, MPI_COMM_SELF));
  CHECK_CLASS(MPI_Bsend(memory[1], 1, MPI_BYTE, 0, 6, MPI_COMM_SELF), MPI_ERR_BUFFER);
  for (int tag = 5; tag >= 2; tag--)
    CHECK_OK(MPI_Recv(memory[2], 5 * unit, MPI_BYTE, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_detach_buffer(MPI_COMM_SELF, &address, &length));

  for (int i = 0; i < 3; i++)
    free(memory[i]);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&derived);
  MPI_Comm_free(&other);
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_CLASS(MPI_Session_attach_buffer(MPI_SESSION_NULL, NULL, 0), MPI_ERR_SESSION);
  return check_end();
}
