// Many nonblocking collectives at once: 64 of all kinds on two communicators with blocking ones and messages between,
// completed by each rank in an order of its own; a rank that does not complete its part keeps nobody from completing.
#include "values.h"

enum { FLIGHT = 64 };
static int size;
static unsigned random_state;

static unsigned draw(unsigned below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % below;
}

typedef struct {
  MPI_Request request;
  int kind, count, root, turn, *send, *receive;
} Flight;

static void start(Flight *f, MPI_Comm comm) {
  int n = f->count;
  f->send = value_new(size * n);
  f->receive = value_new(size * n);
  value_fill(f->send, check_rank, f->kind == 4 || f->kind == 6 ? size * n : n, f->turn);
  switch (f->kind) {
    case 0: CHECK_OK(MPI_Ibarrier(comm, &f->request)); break;
    case 1:
      if (check_rank == f->root) value_fill(f->receive, f->root, n, f->turn);
      CHECK_OK(MPI_Ibcast(f->receive, n, MPI_INT, f->root, comm, &f->request));
      break;
    case 2: CHECK_OK(MPI_Iallreduce(f->send, f->receive, n, MPI_INT, MPI_SUM, comm, &f->request)); break;
    case 3: CHECK_OK(MPI_Iallgather(f->send, n, MPI_INT, f->receive, n, MPI_INT, comm, &f->request)); break;
    case 4: CHECK_OK(MPI_Ialltoall(f->send, n, MPI_INT, f->receive, n, MPI_INT, comm, &f->request)); break;
    case 5: CHECK_OK(MPI_Igather(f->send, n, MPI_INT, f->receive, n, MPI_INT, f->root, comm, &f->request)); break;
    case 6: CHECK_OK(MPI_Iscatter(f->send, n, MPI_INT, f->receive, n, MPI_INT, f->root, comm, &f->request)); break;
    case 7: CHECK_OK(MPI_Iscan(f->send, f->receive, n, MPI_INT, MPI_SUM, comm, &f->request)); break;
    case 8: CHECK_OK(MPI_Ireduce(f->send, f->receive, n, MPI_INT, MPI_MAX, f->root, comm, &f->request)); break;
  }
}

static void finish(Flight *f) {
  int n = f->count, wrong = 0;
  for (int r = 0; r < size; r++)
    for (int i = 0; i < n; i++) {
      int *all = f->receive + r * n;
      if (f->kind == 3 || (f->kind == 5 && check_rank == f->root)) wrong += all[i] != value(r, i, f->turn);
      if (f->kind == 4) wrong += all[i] != value(r, check_rank * n + i, f->turn);
    }
  for (int i = 0; i < n; i++) {
    int sum = 0, prefix = 0, most = 0;
    for (int r = 0; r < size; r++) {
      int v = value(r, i, f->turn);
      sum += v, prefix += r <= check_rank ? v : 0, most = v > most ? v : most;
    }
    if (f->kind == 1) wrong += f->receive[i] != value(f->root, i, f->turn);
    if (f->kind == 2) wrong += f->receive[i] != sum;
    if (f->kind == 6) wrong += f->receive[i] != value(f->root, check_rank * n + i, f->turn);
    if (f->kind == 7) wrong += f->receive[i] != prefix;
    if (f->kind == 8 && check_rank == f->root) wrong += f->receive[i] != most;
  }
  if (wrong) fprintf(stderr, "kind %d, count %d, root %d\n", f->kind, f->count, f->root);
  CHECK_EQUAL(wrong, 0);
  free(f->send);
  free(f->receive);
}

static void flight(MPI_Comm one, MPI_Comm other, int turn) {
  Flight flights[FLIGHT];
  MPI_Request requests[FLIGHT];
  for (int i = 0; i < FLIGHT; i++) {
    int which = turn * FLIGHT + i;
    flights[i] = (Flight){.kind = which * 7 % 9, .count = which % 5 ? which % 40 : which % 3000, .root = which % size};
    flights[i].turn = which;
    start(&flights[i], which % 3 ? one : other);
    requests[i] = flights[i].request;
    CHECK(requests[i] != MPI_REQUEST_NULL);
    if (i % 16 == 5) {
      int sum = 0;
      CHECK_OK(MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, one));
      CHECK_EQUAL(sum, size * i);
    }
    if (i % 16 == 9) {
      int from = (check_rank + size - 1) % size, got = -1;
      CHECK_OK(MPI_Sendrecv(&which, 1, MPI_INT, (check_rank + 1) % size, 3, &got, 1, MPI_INT, from, 3, other,
                            MPI_STATUS_IGNORE));
      CHECK_EQUAL(got, which);
    }
  }
  int left = FLIGHT;
  while (left > 0) {
    int indices[FLIGHT], count = 0, flag = 0, i = draw(FLIGHT);
    switch (draw(4)) {
      case 0: CHECK_OK(MPI_Waitsome(FLIGHT, requests, &count, indices, MPI_STATUSES_IGNORE)); break;
      case 1: CHECK_OK(MPI_Testsome(FLIGHT, requests, &count, indices, MPI_STATUSES_IGNORE)); break;
      case 2: CHECK_OK(MPI_Waitany(FLIGHT, requests, indices, MPI_STATUS_IGNORE)); count = 1; break;
      case 3:
        if (requests[i] == MPI_REQUEST_NULL) continue;
        CHECK_OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        indices[0] = i, count = flag;
        break;
    }
    for (i = 0; i < count; i++) finish(&flights[indices[i]]);
    left -= count;
  }
}

// Rank 0 starts its part and waits for messages that the others send only when theirs is over.
static void absent(int count) {
  int *send = value_fill(value_new(count), check_rank, count, 1), *receive = value_new(count), word = 0;
  MPI_Request request;
  CHECK_OK(MPI_Iallreduce(send, receive, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  if (check_rank == 0)
    for (int r = 1; r < size; r++) CHECK_OK(MPI_Recv(&word, 1, MPI_INT, r, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (check_rank != 0) CHECK_OK(MPI_Send(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    int sum = 0;
    for (int r = 0; r < size; r++) sum += value(r, i, 1);
    wrong += receive[i] != sum;
  }
  CHECK_EQUAL(wrong, 0);
  free(send);
  free(receive);
}

// The root starts its part last, when the others wait, and does not complete it before they have the data.
static void late_root(int count) {
  int *data = value_new(count), word = 0;
  MPI_Request request;
  if (check_rank == 0) {
    value_fill(data, 0, count, 2);
    for (int r = 1; r < size; r++) CHECK_OK(MPI_Recv(&word, 1, MPI_INT, r, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_Ibcast(data, count, MPI_INT, 0, MPI_COMM_WORLD, &request));
  if (check_rank == 0)
    for (int r = 1; r < size; r++) CHECK_OK(MPI_Recv(&word, 1, MPI_INT, r, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  else
    CHECK_OK(MPI_Send(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(value_wrong(data, 0, count, 2), 0);
  if (check_rank != 0) CHECK_OK(MPI_Send(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD));
  free(data);
}

// The datatype and the operation are freed while the operation is under way; so is the communicator.
static void freed(void) {
  enum { N = 600 };
  int send[2 * N], receive[2 * N], all = 0, one = 1;
  MPI_Datatype pair;
  MPI_Comm copy;
  MPI_Request request[2];
  MPI_Type_vector(N, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int i = 0; i < 2 * N; i++) send[i] = check_rank == 0 ? i : -1, receive[i] = -1;
  CHECK_OK(MPI_Ibcast(check_rank == 0 ? send : receive, 1, pair, 0, copy, &request[0]));
  CHECK_OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, copy, &request[1]));
  MPI_Type_free(&pair);
  MPI_Comm_free(&copy);
  CHECK_OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
  CHECK_EQUAL(all, size);
  for (int i = 0; check_rank != 0 && i < 2 * N - 1; i++) CHECK_EQUAL(receive[i], i % 2 ? -1 : i);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  random_state = 12345 + check_rank * 7919;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int turn = 0; turn < 4; turn++) flight(MPI_COMM_WORLD, copy, turn);
  absent(1);
  absent(20000);
  for (int turn = 0; turn < 5; turn++) late_root(turn % 2 ? 1 : 30000);
  freed();
  MPI_Comm_free(&copy);
  return check_end();
}
