// Who tests what is over again and again, along with what is not, gives way to the ranks it waits for: they have its worker.
// weft-test: ranks=2 schedulers=user workers=1 among=threads
#include "../check.h"

enum { ROUNDS = 100, PARTS = 4, MOST_POLLS = 50 * ROUNDS };

static int parts[PARTS];

// Looks for parts, some of which have arrived.
static int polls_for_parts(void) {
  MPI_Request parted;
  int polls = 0, flag;
  CHECK_OK(MPI_Precv_init(parts, PARTS, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &parted));
  for (int round = 0; round < ROUNDS; round++) {
    CHECK_OK(MPI_Start(&parted));
    for (int there = 0; there < PARTS; polls++) {
      there = 0;
      for (int p = 0; p < PARTS; p++) {
        CHECK_OK(MPI_Parrived(parted, p, &flag));
        there += flag;
      }
    }
    CHECK_OK(MPI_Wait(&parted, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&parted));
  return polls;
}

static void send_parts(void) {
  MPI_Request parted;
  int flag;
  CHECK_OK(MPI_Psend_init(parts, PARTS, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &parted));
  for (int round = 0; round < ROUNDS; round++) {
    CHECK_OK(MPI_Start(&parted));
    for (int p = 0; p < PARTS; p++) {
      CHECK_OK(MPI_Pready(p, parted));
      // The other one looks now.
      for (int look = 0; look < 8; look++)
        CHECK_OK(MPI_Iprobe(0, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Wait(&parted, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Request_free(&parted));
}

// Tests a request, and others that are null or inactive.
static int polls_for_messages(void) {
  MPI_Request idle;
  int polls = 0, flag;
  CHECK_OK(MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &idle));
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Request request, over[2] = {MPI_REQUEST_NULL, idle};
    CHECK_OK(MPI_Irecv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD));
    for (int done = 0; !done; polls++) {
      CHECK_OK(MPI_Test(&over[round % 2], &flag, MPI_STATUS_IGNORE));
      CHECK_EQUAL(flag, 1);
      CHECK_OK(MPI_Testall(2, over, &flag, MPI_STATUSES_IGNORE));
      CHECK_EQUAL(flag, 1);
      CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
  }
  CHECK_OK(MPI_Request_free(&idle));
  return polls;
}

int main(int argc, char **argv) {
  int rank;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_rank = rank;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    CHECK(polls_for_parts() < MOST_POLLS);
    CHECK(polls_for_messages() < MOST_POLLS);
  } else {
    send_parts();
    for (int round = 0; round < ROUNDS; round++) {
      CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
    }
  }
  return check_end();
}
