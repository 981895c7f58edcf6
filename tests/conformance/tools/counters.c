// Performance variables count what ranks do: messages and bytes by communicator and by way, unexpected ones, collective and
// one-sided operations, operations on files; each rank its own.
#include "check.h"
#include <unistd.h>

typedef unsigned long long value;
static MPI_T_pvar_session session;

static MPI_T_pvar_handle take(const char *name, int class, void *object) {
  int index = -1, count = 0;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  CHECK_OK(MPI_T_pvar_get_index(name, class, &index));
  CHECK_OK(MPI_T_pvar_handle_alloc(session, index, object, &handle, &count));
  return handle;
}

static value read_of(MPI_T_pvar_handle handle) {
  value v = 987654321;
  CHECK_OK(MPI_T_pvar_read(session, handle, &v));
  return v;
}

enum { COUNT = 5, COUNTER = MPI_T_PVAR_CLASS_COUNTER, SUM = MPI_T_PVAR_CLASS_AGGREGATE, TIMER = MPI_T_PVAR_CLASS_TIMER };

static const char *ways[] = {"ring", "offer", "direct", "copy", "reference", "eager", "answer", "request"};

static void messages(MPI_Comm mine, int rank, int size) {
  MPI_Comm world = MPI_COMM_WORLD;
  int to = (rank + 1) % size, from = (rank + size - 1) % size, data[64] = {0};
  MPI_T_pvar_handle sent = take("sent_messages", COUNTER, &mine), bytes = take("sent_bytes", SUM, &mine);
  MPI_T_pvar_handle met = take("matched_messages", COUNTER, &mine), met_bytes = take("matched_bytes", SUM, &mine);
  MPI_T_pvar_handle elsewhere = take("sent_messages", COUNTER, &world), way[8][2];
  MPI_T_pvar_handle late = take("sent_messages", COUNTER, &mine);
  for (int i = 0; i < 8; i++) {
    char name[40];
    snprintf(name, sizeof name, "%s_messages", ways[i]);
    way[i][0] = take(name, COUNTER, NULL);
    snprintf(name, sizeof name, "%s_bytes", ways[i]);
    way[i][1] = take(name, SUM, NULL);
  }
  // Nothing counts before it is started.
  MPI_Sendrecv(data, 1, MPI_INT, to, 1, data + 32, 1, MPI_INT, from, 1, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(sent), 0);
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  CHECK_OK(MPI_T_pvar_stop(session, late));
  for (int i = 1; i <= COUNT; i++) MPI_Sendrecv(data, i, MPI_INT, to, 2, data + 32, i, MPI_INT, from, 2, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(sent), COUNT);
  CHECK_EQUAL(read_of(bytes), 4 * COUNT * (COUNT + 1) / 2);
  CHECK_EQUAL(read_of(met), COUNT);
  CHECK_EQUAL(read_of(met_bytes), 4 * COUNT * (COUNT + 1) / 2);
  CHECK_EQUAL(read_of(elsewhere), 0);
  CHECK_EQUAL(read_of(late), 0);
  value all = 0, sum = 0;
  for (int i = 0; i < 8; i++) all += read_of(way[i][0]), sum += read_of(way[i][1]);
  CHECK_EQUAL(all, COUNT);
  CHECK_EQUAL(sum, 4 * COUNT * (COUNT + 1) / 2);
  // Stopped, a variable keeps its value; started again, it goes on from there.
  CHECK_OK(MPI_T_pvar_stop(session, sent));
  MPI_Sendrecv(data, 1, MPI_INT, to, 3, data + 32, 1, MPI_INT, from, 3, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(sent), COUNT);
  CHECK_OK(MPI_T_pvar_start(session, sent));
  MPI_Sendrecv(data, 1, MPI_INT, to, 3, data + 32, 1, MPI_INT, from, 3, mine, MPI_STATUS_IGNORE);
  value v = 0;
  CHECK_OK(MPI_T_pvar_readreset(session, sent, &v));
  CHECK_EQUAL(v, COUNT + 1);
  MPI_Sendrecv(data, 1, MPI_INT, to, 3, data + 32, 1, MPI_INT, from, 3, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(sent), 1);
  CHECK_OK(MPI_T_pvar_reset(session, sent));
  CHECK_EQUAL(read_of(sent), 0);
}

// Every form of a send is a message, whatever its length and whichever way it goes.
static void forms(MPI_Comm mine, int rank, int size) {
  static const int lengths[] = {0, 8, 300, 5000, 70000, 1000000};
  enum { LENGTHS = sizeof lengths / sizeof lengths[0], FORMS = 9 };
  int to = (rank + 1) % size, from = (rank + size - 1) % size;
  value expected = 0, v;
  char *out = malloc(1000000), *in = malloc(1000000), *room = malloc(3000000);
  memset(out, 1, 1000000);
  MPI_Buffer_attach(room, 3000000);
  MPI_T_pvar_handle handle[4] = {take("sent_messages", COUNTER, &mine), take("sent_bytes", SUM, &mine),
                                 take("matched_messages", COUNTER, &mine), take("matched_bytes", SUM, &mine)};
  for (int i = 0; i < 4; i++) CHECK_OK(MPI_T_pvar_start(session, handle[i]));
  MPI_Barrier(mine);
  for (int l = 0; l < LENGTHS; l++) {
    int n = lengths[l];
    for (int form = 0; form < FORMS; form++) {
      MPI_Request receive, send = MPI_REQUEST_NULL;
      if (form < FORMS - 1) MPI_Irecv(in, n, MPI_CHAR, from, form, mine, &receive);
      if (form % 2) MPI_Barrier(mine); // Else the message may come before its receive.
      switch (form) {
      case 0: MPI_Send(out, n, MPI_CHAR, to, form, mine); break;
      case 1: MPI_Rsend(out, n, MPI_CHAR, to, form, mine); break;
      case 2: MPI_Ssend(out, n, MPI_CHAR, to, form, mine); break;
      case 3: MPI_Bsend(out, n, MPI_CHAR, to, form, mine); break;
      case 4: MPI_Isend(out, n, MPI_CHAR, to, form, mine, &send); break;
      case 5: MPI_Issend(out, n, MPI_CHAR, to, form, mine, &send); break;
      case 6: MPI_Ibsend(out, n, MPI_CHAR, to, form, mine, &send); break;
      case 7:
        MPI_Send_init(out, n, MPI_CHAR, to, form, mine, &send);
        MPI_Start(&send);
        break;
      case 8: MPI_Sendrecv_replace(out, n, MPI_CHAR, to, form, from, form, mine, MPI_STATUS_IGNORE); break;
      }
      MPI_Wait(&send, MPI_STATUS_IGNORE);
      if (form == 7) MPI_Request_free(&send);
      if (form < FORMS - 1) MPI_Wait(&receive, MPI_STATUS_IGNORE);
      expected += (value)n;
    }
  }
  CHECK_OK(MPI_T_pvar_read(session, handle[0], &v));
  CHECK_EQUAL(v, FORMS * LENGTHS);
  CHECK_OK(MPI_T_pvar_read(session, handle[1], &v));
  CHECK_EQUAL(v, expected);
  CHECK_OK(MPI_T_pvar_read(session, handle[2], &v));
  CHECK_EQUAL(v, FORMS * LENGTHS);
  CHECK_OK(MPI_T_pvar_read(session, handle[3], &v));
  CHECK_EQUAL(v, expected);
  MPI_Buffer_detach(&room, &(int){0});
  free(room);
  free(in);
  free(out);
}

static void partitions(MPI_Comm mine, int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, out[12] = {0}, in[12];
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request send, receive, nobody;
  MPI_T_pvar_handle parts = take("partitions", COUNTER, &mine), bytes = take("partition_bytes", SUM, &mine);
  MPI_T_pvar_handle elsewhere = take("partitions", COUNTER, &world);
  CHECK_OK(MPI_T_pvar_start(session, parts));
  CHECK_OK(MPI_T_pvar_start(session, bytes));
  CHECK_OK(MPI_T_pvar_start(session, elsewhere));
  MPI_Psend_init(out, 4, 3, MPI_INT, to, 0, mine, MPI_INFO_NULL, &send);
  MPI_Psend_init(out, 4, 3, MPI_INT, MPI_PROC_NULL, 0, mine, MPI_INFO_NULL, &nobody);
  MPI_Precv_init(in, 4, 3, MPI_INT, from, 0, mine, MPI_INFO_NULL, &receive);
  MPI_Start(&send);
  MPI_Start(&receive);
  MPI_Start(&nobody);
  MPI_Pready(3, send);
  MPI_Pready_range(0, 2, send);
  MPI_Pready_range(0, 3, nobody);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&nobody, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(parts), 4);
  CHECK_EQUAL(read_of(bytes), 48);
  CHECK_EQUAL(read_of(elsewhere), 0);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
  MPI_Request_free(&nobody);
}

static void queues(MPI_Comm mine, int rank, int size) {
  int to = (rank + 1) % size, from = (rank + size - 1) % size, data[COUNT] = {0}, came[COUNT];
  MPI_T_pvar_handle unexpected = take("unexpected_messages", COUNTER, NULL), length = take("unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL, NULL);
  MPI_T_pvar_handle most = take("unexpected_queue_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
  MPI_T_pvar_handle posted = take("posted_queue_length", MPI_T_PVAR_CLASS_LEVEL, NULL);
  CHECK_OK(MPI_T_pvar_start(session, unexpected));
  CHECK_OK(MPI_T_pvar_start(session, most));
  MPI_Request request[COUNT], one;
  // Nothing is sent to a rank before it counts.
  MPI_Barrier(mine);
  for (int i = 0; i < COUNT; i++) MPI_Issend(&data[i], 1, MPI_INT, to, i, mine, &request[i]);
  // The last message is there, and so are those before it.
  MPI_Probe(from, COUNT - 1, mine, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(unexpected), COUNT);
  CHECK_EQUAL(read_of(length), COUNT);
  CHECK_EQUAL(read_of(most), COUNT);
  for (int i = 0; i < COUNT; i++) MPI_Recv(&came[i], 1, MPI_INT, from, i, mine, MPI_STATUS_IGNORE);
  MPI_Waitall(COUNT, request, MPI_STATUSES_IGNORE);
  CHECK_EQUAL(read_of(length), 0);
  CHECK_EQUAL(read_of(most), COUNT);
  CHECK_OK(MPI_T_pvar_reset(session, most));
  CHECK_EQUAL(read_of(most), 0);
  value before = read_of(posted);
  MPI_Irecv(came, 1, MPI_INT, from, 77, mine, &one);
  CHECK_EQUAL(read_of(posted), before + 1);
  MPI_Cancel(&one);
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(posted), before);
}

static void collectives(MPI_Comm mine) {
  MPI_Comm world = MPI_COMM_WORLD;
  int one = 1, sum;
  MPI_T_pvar_handle here = take("collectives", COUNTER, &mine), elsewhere = take("collectives", COUNTER, &world);
  MPI_T_pvar_handle time = take("collective_time", TIMER, &mine);
  CHECK_OK(MPI_T_pvar_start(session, here));
  CHECK_OK(MPI_T_pvar_start(session, elsewhere));
  CHECK_OK(MPI_T_pvar_start(session, time));
  MPI_Request request;
  MPI_Barrier(mine);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, mine);
  MPI_Ibarrier(mine, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier_init(mine, MPI_INFO_NULL, &request);
  for (int i = 0; i < 2; i++) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  CHECK_EQUAL(read_of(here), 5);
  CHECK_EQUAL(read_of(elsewhere), 0);
  CHECK(read_of(time) > 0);
}

static void windows(MPI_Comm mine, int rank, int size) {
  int *base, number = 3, back = 0;
  MPI_Win win, other;
  MPI_Win_allocate(40, 1, MPI_INFO_NULL, mine, &base, &win);
  MPI_Win_allocate(40, 1, MPI_INFO_NULL, mine, &base, &other);
  MPI_T_pvar_handle here = take("accesses", COUNTER, &win), bytes = take("access_bytes", SUM, &win), elsewhere = take("accesses", COUNTER, &other);
  CHECK_OK(MPI_T_pvar_start(session, here));
  CHECK_OK(MPI_T_pvar_start(session, bytes));
  CHECK_OK(MPI_T_pvar_start(session, elsewhere));
  MPI_Win_fence(0, win);
  MPI_Put(&number, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Accumulate(&number, 1, MPI_INT, (rank + 1) % size, 4, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Get(&back, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK_EQUAL(back, 3);
  CHECK_EQUAL(read_of(here), 3);
  CHECK_EQUAL(read_of(bytes), 12);
  CHECK_EQUAL(read_of(elsewhere), 0);
  MPI_Win_free(&win);
  MPI_Win_free(&other);
}

static void files(int rank) {
  char name[60];
  int data[8] = {0};
  MPI_File file;
  snprintf(name, sizeof name, "/tmp/weft-counters-%d-%d", (int)getpid(), rank);
  if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file)) {
    CHECK(!"the file opens");
    return;
  }
  MPI_T_pvar_handle reads = take("file_reads", COUNTER, &file), read = take("file_read_bytes", SUM, &file);
  MPI_T_pvar_handle writes = take("file_writes", COUNTER, &file), written = take("file_written_bytes", SUM, &file);
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  MPI_File_write_at(file, 0, data, 8, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 32, data, 2, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_EQUAL(read_of(writes), 2);
  CHECK_EQUAL(read_of(written), 40);
  CHECK_EQUAL(read_of(reads), 1);
  CHECK_EQUAL(read_of(read), 16);
  MPI_File_close(&file);
}

static void ranks(MPI_Comm mine, int rank, int size) {
  MPI_T_pvar_handle parks = take("parks", COUNTER, NULL), parked = take("parked_time", TIMER, NULL);
  MPI_T_pvar_handle waiting = take("waiting_time", TIMER, NULL);
  CHECK_OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  if (size == 1) return;
  // The first rank sends when all others have asked for it, which they do long enough for each of them to park or look in vain.
  int token = 0;
  MPI_Recv(rank ? &token : NULL, rank ? 1 : 0, MPI_INT, rank ? rank - 1 : MPI_PROC_NULL, 9, mine, MPI_STATUS_IGNORE);
  MPI_Send(&token, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 9, mine);
  if (rank) CHECK(read_of(waiting) > 0);
  CHECK(!read_of(parks) == !read_of(parked));
}

int main(int argc, char **argv) {
  int provided, rank, size;
  MPI_Comm mine;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_pvar_session_create(&session));
  messages(mine, rank, size);
  forms(mine, rank, size);
  partitions(mine, rank, size);
  queues(mine, rank, size);
  collectives(mine);
  windows(mine, rank, size);
  files(rank);
  ranks(mine, rank, size);
  CHECK_OK(MPI_T_pvar_session_free(&session));
  CHECK_OK(MPI_T_finalize());
  MPI_Comm_free(&mine);
  return check_end();
}
