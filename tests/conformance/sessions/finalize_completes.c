// When MPI_Session_finalize or MPI_Comm_disconnect has returned, the rank's messages are on their way: it may use the
// buffers of sends whose requests it freed for something else.
#include "check.h"

enum { LENGTH = 1 << 20 };
static int out[3][LENGTH], in[LENGTH];

static int is_filled(int value) {
  for (int i = 0; i < LENGTH; i++)
    if (in[i] != value) return 0;
  return 1;
}

static void fill(int *data, int value) {
  for (int i = 0; i < LENGTH; i++) data[i] = value;
}

static void send_and_forget(int *data, int value, int tag, MPI_Comm comm, int target) {
  MPI_Request request;
  fill(data, value);
  CHECK_OK(MPI_Isend(data, LENGTH, MPI_INT, target, tag, comm, &request));
  CHECK_OK(MPI_Request_free(&request));
}

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, freed, gone;
  int size;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "weft.test.end", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Comm_rank(comm, &check_rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  CHECK_OK(MPI_Comm_dup(comm, &freed));
  CHECK_OK(MPI_Comm_dup(comm, &gone));
  int partner = check_rank ^ 1, sends = check_rank % 2 == 0;
  if (partner < size) {
    if (sends) {
      send_and_forget(out[0], 1000 + check_rank, 7, gone, partner);
      CHECK_OK(MPI_Comm_disconnect(&gone));
      fill(out[0], -1);
      send_and_forget(out[1], 2000 + check_rank, 8, comm, partner);
      // Freeing a communicator leaves what has begun in it.
      send_and_forget(out[2], 3000 + check_rank, 9, freed, partner);
      CHECK_OK(MPI_Comm_free(&freed));
      CHECK_OK(MPI_Session_finalize(&session));
      fill(out[1], -1);
      fill(out[2], -1);
    } else {
      CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, partner, 7, gone, MPI_STATUS_IGNORE));
      CHECK(is_filled(1000 + partner));
      CHECK_OK(MPI_Comm_disconnect(&gone));
      CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, partner, 9, freed, MPI_STATUS_IGNORE));
      CHECK(is_filled(3000 + partner));
      CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, partner, 8, comm, MPI_STATUS_IGNORE));
      CHECK(is_filled(2000 + partner));
      CHECK_OK(MPI_Session_finalize(&session));
    }
  } else {
    CHECK_OK(MPI_Session_finalize(&session));
  }
  return check_failures != 0;
}
