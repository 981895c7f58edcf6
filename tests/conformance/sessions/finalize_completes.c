// When MPI_Session_finalize or MPI_Comm_disconnect has returned, the rank's messages are on their way: it may use the
// buffers of sends whose requests it freed, and those it attached, for something else.
// weft-test: faults=yes
#include "check.h"

enum { LENGTH = 1 << 18 };
static int out[3][LENGTH], in[LENGTH];
static char attached[2][LENGTH * sizeof(int) + MPI_BSEND_OVERHEAD];

static int is_filled(int value) {
  for (int i = 0; i < LENGTH; i++)
    if (in[i] != value) return 0;
  return 1;
}

static void fill(int *data, int value) {
  for (int i = 0; i < LENGTH; i++) data[i] = value;
}

static MPI_Comm create(MPI_Session *session, const char *name) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session));
  CHECK_OK(MPI_Group_from_session_pset(*session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Group_free(&group));
  return comm;
}

static void send_and_forget(int *data, int value, int tag, MPI_Comm comm, int target) {
  MPI_Request request;
  fill(data, value);
  CHECK_OK(MPI_Isend(data, LENGTH, MPI_INT, target, tag, comm, &request));
  CHECK_OK(MPI_Request_free(&request));
}

static void receive(int value, int tag, MPI_Comm comm, int source) {
  CHECK_OK(MPI_Recv(in, LENGTH, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE));
  CHECK(is_filled(value));
}

static void freed_requests(MPI_Comm comm, MPI_Session *session, int partner) {
  MPI_Comm freed, gone;
  CHECK_OK(MPI_Comm_dup(comm, &freed));
  CHECK_OK(MPI_Comm_dup(comm, &gone));
  if (check_rank % 2 == 0) {
    send_and_forget(out[0], 1, 7, gone, partner);
    CHECK_OK(MPI_Comm_disconnect(&gone));
    fill(out[0], -1);
    send_and_forget(out[1], 2, 8, comm, partner);
    // Freeing a communicator leaves what has begun in it.
    send_and_forget(out[2], 3, 9, freed, partner);
    CHECK_OK(MPI_Comm_free(&freed));
    CHECK_OK(MPI_Session_finalize(session));
    fill(out[1], -1);
    fill(out[2], -1);
  } else {
    receive(1, 7, gone, partner);
    CHECK_OK(MPI_Comm_disconnect(&gone));
    receive(3, 9, freed, partner);
    receive(2, 8, comm, partner);
    CHECK_OK(MPI_Session_finalize(session));
  }
}

static void buffered(MPI_Comm comm, MPI_Session *session, int partner) {
  MPI_Comm gone;
  CHECK_OK(MPI_Comm_dup(comm, &gone));
  if (check_rank % 2 == 0) {
    CHECK_OK(MPI_Comm_attach_buffer(gone, attached[0], sizeof attached[0]));
    fill(out[0], 4);
    CHECK_OK(MPI_Bsend(out[0], LENGTH, MPI_INT, partner, 10, gone));
    CHECK_OK(MPI_Comm_disconnect(&gone));
    memset(attached[0], -1, sizeof attached[0]);
    CHECK_OK(MPI_Session_attach_buffer(*session, attached[1], sizeof attached[1]));
    fill(out[0], 5);
    CHECK_OK(MPI_Bsend(out[0], LENGTH, MPI_INT, partner, 11, comm));
    CHECK_OK(MPI_Session_finalize(session));
    memset(attached[1], -1, sizeof attached[1]);
  } else {
    receive(4, 10, gone, partner);
    CHECK_OK(MPI_Comm_disconnect(&gone));
    receive(5, 11, comm, partner);
    CHECK_OK(MPI_Session_finalize(session));
  }
}

int main(int argc, char **argv) {
  for (int part = 0; part < 2; part++) {
    MPI_Session session;
    int size;
    MPI_Comm comm = create(&session, part ? "weft.test.buffered" : "weft.test.freed"), pair;
    CHECK_OK(MPI_Comm_rank(comm, &check_rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    CHECK_OK(MPI_Comm_split(comm, check_rank / 2, 0, &pair));
    if ((check_rank ^ 1) >= size)
      CHECK_OK(MPI_Session_finalize(&session));
    else if (part)
      buffered(pair, &session, !(check_rank % 2));
    else
      freed_requests(pair, &session, !(check_rank % 2));
  }
  return check_failures != 0;
}
