// The library without the world model: everything that needs no MPI_COMM_WORLD works on communicators of a session,
// before MPI_Init, while the world model is there, and after MPI_Finalize.
#include "check.h"

static void sum(void *in, void *out, int *count, MPI_Datatype *type) {
  for (int i = 0; i < *count; i++) ((int *)out)[i] += ((int *)in)[i];
}

static void use(MPI_Comm comm, int expected_size) {
  int rank, size, value, all, flag, key;
  CHECK_OK(MPI_Comm_rank(comm, &rank));
  CHECK_OK(MPI_Comm_size(comm, &size));
  CHECK_EQUAL(size, expected_size);
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[2];
  MPI_Message message;
  MPI_Status status;

  // Messages: nonblocking, matched by a probe, persistent, buffered.
  int out[3] = {rank, 10 * rank, 100 * rank}, in[3] = {-1, -1, -1};
  CHECK_OK(MPI_Isend(out, 3, MPI_INT, right, 1, comm, &requests[0]));
  CHECK_OK(MPI_Mprobe(left, 1, comm, &message, &status));
  CHECK_OK(MPI_Mrecv(in, 3, MPI_INT, &message, &status));
  CHECK(status.MPI_SOURCE == left && in[0] == left && in[2] == 100 * left);
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Send_init(out, 1, MPI_INT, right, 2, comm, &requests[0]));
  CHECK_OK(MPI_Recv_init(in, 1, MPI_INT, left, 2, comm, &requests[1]));
  for (int i = 0; i < 3; i++) {
    out[0] = 7 * rank + i;
    CHECK_OK(MPI_Startall(2, requests));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_EQUAL(in[0], 7 * left + i);
  }
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[1]));
  char *memory;
  int room = 1000 + MPI_BSEND_OVERHEAD;
  CHECK_OK(MPI_Alloc_mem(room, MPI_INFO_NULL, &memory));
  CHECK_OK(MPI_Buffer_attach(memory, room));
  CHECK_OK(MPI_Bsend(&rank, 1, MPI_INT, right, 3, comm));
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, left, 3, comm, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value, left);
  CHECK_OK(MPI_Buffer_detach(&memory, &room));
  CHECK_OK(MPI_Free_mem(memory));

  // Operations and types of the program, collective calls.
  MPI_Op op;
  MPI_Datatype three;
  CHECK_OK(MPI_Op_create(sum, 1, &op));
  CHECK_OK(MPI_Allreduce(&rank, &all, 1, MPI_INT, op, comm));
  CHECK_EQUAL(all, size * (size - 1) / 2);
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Ibarrier(comm, &requests[0]));
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &three));
  CHECK_OK(MPI_Type_commit(&three));
  value = rank == 0;
  out[0] = out[1] = out[2] = value ? 42 : 0;
  CHECK_OK(MPI_Bcast(out, 1, three, 0, comm));
  CHECK(out[0] == 42 && out[2] == 42);
  CHECK_OK(MPI_Type_free(&three));

  // Communicators, attributes, windows.
  MPI_Comm half, dup;
  CHECK_OK(MPI_Comm_split(comm, rank % 2, 0, &half));
  CHECK_OK(MPI_Comm_size(half, &value));
  CHECK_EQUAL(value, (size + 1 - rank % 2) / 2);
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  CHECK_OK(MPI_Comm_set_attr(half, key, &key));
  CHECK_OK(MPI_Comm_idup(half, &dup, &requests[0]));
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  int *found;
  CHECK_OK(MPI_Comm_get_attr(dup, key, &found, &flag));
  CHECK(flag && found == &key);
  CHECK_OK(MPI_Comm_free_keyval(&key));
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_free(&half));
  MPI_Win win;
  int *base;
  CHECK_OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win));
  *base = rank;
  CHECK_OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int size, flag;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  CHECK_OK(MPI_Comm_create_from_group(group, "weft.test.alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  CHECK_OK(MPI_Group_size(group, &size));
  CHECK_OK(MPI_Group_rank(group, &check_rank));
  CHECK_OK(MPI_Group_free(&group));
  use(comm, size);
  CHECK_OK(MPI_Initialized(&flag));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Init(NULL, NULL));
  use(comm, size);
  use(MPI_COMM_WORLD, size);
  CHECK_OK(MPI_Finalize());
  use(comm, size);
  CHECK_OK(MPI_Comm_disconnect(&comm));
  CHECK_OK(MPI_Session_finalize(&session));
  return check_failures != 0;
}
