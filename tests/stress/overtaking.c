// Nothing overtakes under threads and wildcards: several threads of every rank send, by every mode, on several
// communicators; one thread per communicator receives with a window of wildcard and special receives, posted, cancelled
// and posted again, and by blocking receives and probes beside it or alone. Every message carries the number its
// sender's thread gave it.
//
// What must hold, whatever happens when: take the receives of one communicator in the order they were posted. Of all
// messages of one sending thread with one tag, later receives got later messages; and so of all messages of one sending
// thread that receives for any tag got. Each message arrives once and whole.
//
// usage: overtaking SEED THREADS MESSAGES-PER-THREAD
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { COMMS = 2, TAGS = 3, WINDOW = 10, LARGEST = 3000, AHEAD = 4 };  // LARGEST: ints
static int size, threads, messages;
static unsigned seed;
static MPI_Comm comms[COMMS];

typedef struct {
  int thread, serial, length, check;
} head;

static unsigned mixed(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u ^ (a << 42 | b << 21 | c);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (unsigned)(x >> 32);
}
static unsigned next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33);
}

// Where message `i` of a thread goes; both sides know it.
static void address(int rank, int thread, int i, int *target, int *comm, int *tag) {
  unsigned r = mixed((uint64_t)rank, (uint64_t)thread, (uint64_t)i);
  *target = (int)(r % (unsigned)size), *comm = (int)((r >> 12) % COMMS), *tag = (int)((r >> 16) % TAGS);
}

static void *sender(void *argument) {
  int me = (int)(long)argument;
  uint64_t state = seed * 77u + (unsigned)(check_rank * 64 + me);
  int *buffers[AHEAD];
  MPI_Request requests[AHEAD];
  for (int i = 0; i < AHEAD; i++) buffers[i] = malloc(LARGEST * sizeof(int)), requests[i] = MPI_REQUEST_NULL;
  for (int i = 0; i < messages; i++) {
    int target, c, tag, slot;
    address(check_rank, me, i, &target, &c, &tag);
    for (slot = 0; slot < AHEAD && requests[slot] != MPI_REQUEST_NULL;) slot++;
    if (slot == AHEAD) CHECK_OK(MPI_Waitany(AHEAD, requests, &slot, MPI_STATUS_IGNORE));
    unsigned kind = next_random(&state);
    int length = (int)sizeof(head) / 4 + (int)(next_random(&state) % (kind % 8 ? kind % 2 ? 8 : 200 : LARGEST - 4));
    int *data = buffers[slot];
    head h = {me, i, length, 0};
    for (int k = sizeof h / 4; k < length; k++) data[k] = (int)next_random(&state), h.check ^= data[k];
    memcpy(data, &h, sizeof h);
    MPI_Comm comm = comms[c];
    switch ((kind >> 8) % 8) {
      case 0: CHECK_OK(MPI_Ssend(data, length, MPI_INT, target, tag, comm)); break;
      case 1: CHECK_OK(MPI_Bsend(data, length, MPI_INT, target, tag, comm)); break;
      case 2:
      case 3: CHECK_OK(MPI_Isend(data, length, MPI_INT, target, tag, comm, &requests[slot])); break;
      case 4: CHECK_OK(MPI_Issend(data, length, MPI_INT, target, tag, comm, &requests[slot])); break;
      default: CHECK_OK(MPI_Send(data, length, MPI_INT, target, tag, comm));
    }
  }
  CHECK_OK(MPI_Waitall(AHEAD, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < AHEAD; i++) free(buffers[i]);
  return NULL;
}

// One receive, in the order of posting.
typedef struct {
  int source, tag, any_tag, thread, serial;  // serial -1: cancelled
} entry;

typedef struct {
  int comm, total, taken, posted;
  entry *log;
  uint64_t state;
  int *space[WINDOW], *extra;
  MPI_Request requests[WINDOW];
  int entries[WINDOW];   // which entry of the log a place of the window is
  int everything[WINDOW];  // whether it takes any message
} Receiver;

static entry *add_entry(Receiver *r, int any_tag) {
  if (r->posted % 1024 == 0) r->log = realloc(r->log, sizeof(entry) * (size_t)(r->posted + 1024));
  entry *e = &r->log[r->posted++];
  *e = (entry){-1, -1, any_tag, -1, -1};
  return e;
}

static void take(Receiver *r, entry *e, const int *data, const MPI_Status *status) {
  int count, check = 0, target, comm, tag;
  head h;
  MPI_Get_count(status, MPI_INT, &count);
  memcpy(&h, data, sizeof h);
  CHECK_EQUAL(h.length, count);
  for (int k = sizeof h / 4; k < count; k++) check ^= data[k];
  CHECK_EQUAL(check, h.check);
  address(status->MPI_SOURCE, h.thread, h.serial, &target, &comm, &tag);
  CHECK(target == check_rank && comm == r->comm && tag == status->MPI_TAG);
  *e = (entry){status->MPI_SOURCE, status->MPI_TAG, e->any_tag, h.thread, h.serial};
  r->taken++;
}

static void post(Receiver *r, int place) {
  unsigned random = next_random(&r->state);
  int all = 1;
  for (int i = 0; i < WINDOW; i++) all &= i == place || r->requests[i] == MPI_REQUEST_NULL || !r->everything[i];
  // One of the window takes everything, or it might wait for what never comes.
  int source = all || random % 2 ? MPI_ANY_SOURCE : (int)((random >> 3) % (unsigned)size);
  int tag = all || random % 3 ? MPI_ANY_TAG : (int)((random >> 18) % TAGS);
  r->everything[place] = source == MPI_ANY_SOURCE && tag == MPI_ANY_TAG;
  r->entries[place] = r->posted;
  add_entry(r, tag == MPI_ANY_TAG);
  CHECK_OK(MPI_Irecv(r->space[place], LARGEST, MPI_INT, source, tag, comms[r->comm], &r->requests[place]));
}

// Cancels what is posted in a place; takes the message if it was too late.
static void withdraw(Receiver *r, int place) {
  MPI_Status status;
  int cancelled;
  if (r->requests[place] == MPI_REQUEST_NULL) return;
  CHECK_OK(MPI_Cancel(&r->requests[place]));
  CHECK_OK(MPI_Wait(&r->requests[place], &status));
  MPI_Test_cancelled(&status, &cancelled);
  if (!cancelled) take(r, &r->log[r->entries[place]], r->space[place], &status);
}

static void probe(Receiver *r, unsigned random) {
  MPI_Comm comm = comms[r->comm];
  MPI_Message message;
  MPI_Status status;
  MPI_Request request;
  int flag = 1;
  entry *e = add_entry(r, 1);
  switch (random % 5) {
    case 0:
      CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
      CHECK_OK(MPI_Mrecv(r->extra, LARGEST, MPI_INT, &message, &status));
      break;
    case 1:
      for (flag = 0; !flag;) CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status));
      CHECK_OK(MPI_Imrecv(r->extra, LARGEST, MPI_INT, &message, &request));
      CHECK_OK(MPI_Wait(&request, &status));
      break;
    case 2:
      CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
      CHECK_OK(MPI_Recv(r->extra, LARGEST, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
      break;
    case 3:
      for (flag = 0; !flag;) CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
      CHECK_OK(MPI_Recv(r->extra, LARGEST, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, comm, &status));
      break;
    default:
      CHECK_OK(MPI_Recv(r->extra, LARGEST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
  }
  take(r, e, r->extra, &status);
}

static void *receiver(void *argument) {
  Receiver *r = argument;
  r->state = seed * 131u + (unsigned)(check_rank * 8 + r->comm);
  for (int i = 0; i < WINDOW; i++) r->space[i] = malloc(LARGEST * sizeof(int)), r->requests[i] = MPI_REQUEST_NULL;
  r->extra = malloc(LARGEST * sizeof(int));
  while (r->taken < r->total) {
    unsigned random = next_random(&r->state);
    if (random % 8 == 0) {
      for (int i = 0; i < WINDOW; i++) withdraw(r, i);
      for (unsigned i = 0; i < 1 + (random >> 8) % 6 && r->taken < r->total; i++) probe(r, random >> (12 + i));
      continue;
    }
    for (int i = 0; i < WINDOW; i++)
      if (r->requests[i] == MPI_REQUEST_NULL) post(r, i);
    // Behind the window, which goes first; it can take so many messages that none is left, but not more.
    if (random % 8 == 1 && r->total - r->taken > WINDOW) probe(r, random >> 12);
    int places[WINDOW], count = 1;
    MPI_Status statuses[WINDOW];
    switch ((random >> 4) % 4) {
      case 0: CHECK_OK(MPI_Waitany(WINDOW, r->requests, places, statuses)); break;
      case 1: CHECK_OK(MPI_Waitsome(WINDOW, r->requests, &count, places, statuses)); break;
      case 2: CHECK_OK(MPI_Testsome(WINDOW, r->requests, &count, places, statuses)); break;
      default: {
        int flag;
        CHECK_OK(MPI_Testany(WINDOW, r->requests, places, &flag, statuses));
        count = flag;
      }
    }
    for (int i = 0; i < count; i++) take(r, &r->log[r->entries[places[i]]], r->space[places[i]], &statuses[i]);
    if ((random >> 16) % 16 == 0) {
      int place = (int)((random >> 20) % WINDOW);
      withdraw(r, place);
    }
  }
  CHECK_EQUAL(r->taken, r->total);
  for (int i = 0; i < WINDOW; i++) withdraw(r, i), free(r->space[i]);
  free(r->extra);
  CHECK_EQUAL(r->taken, r->total);
  return NULL;
}

static void check_order(const Receiver *r) {
  // The last serial per (source, thread, tag), and per (source, thread) for receives of any tag.
  int streams = size * (threads + 1), *last = malloc(sizeof(int) * (size_t)streams * (TAGS + 1));
  for (int i = 0; i < streams * (TAGS + 1); i++) last[i] = -1;
  for (int i = 0; i < r->posted; i++) {
    const entry *e = &r->log[i];
    if (e->serial < 0) continue;
    int stream = e->source * (threads + 1) + e->thread;
    for (int way = 0; way < 1 + e->any_tag; way++) {
      int *before = &last[stream * (TAGS + 1) + (way ? TAGS : e->tag)];
      if (*before >= e->serial && check_failures++ < 10)
        fprintf(stderr, "rank %d: receive %d got message %d of thread %d of rank %d%s after its message %d\n",
                check_rank, i, e->serial, e->thread, e->source, way ? "" : " with one tag", *before);
      *before = e->serial;
    }
  }
  free(last);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  threads = argc > 2 ? atoi(argv[2]) : 2;
  messages = argc > 3 ? atoi(argv[3]) : 200;
  CHECK_OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  Receiver receivers[COMMS];
  memset(receivers, 0, sizeof receivers);
  for (int c = 0; c < COMMS; c++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    receivers[c].comm = c;
  }
  for (int rank = 0; rank < size; rank++)
    for (int thread = 0; thread <= threads; thread++)
      for (int i = 0; i < messages; i++) {
        int target, comm, tag;
        address(rank, thread, i, &target, &comm, &tag);
        receivers[comm].total += target == check_rank;
      }
  pthread_t receiving[COMMS], *sending = malloc(sizeof *sending * (size_t)(threads + 1));
  for (int c = 0; c < COMMS; c++) pthread_create(&receiving[c], NULL, receiver, &receivers[c]);
  for (long i = 1; i <= threads; i++) pthread_create(&sending[i], NULL, sender, (void *)i);
  sender(NULL);  // The rank's own thread has ways of its own.
  for (int i = 1; i <= threads; i++) pthread_join(sending[i], NULL);
  for (int c = 0; c < COMMS; c++) {
    pthread_join(receiving[c], NULL);
    check_order(&receivers[c]);
    free(receivers[c].log);
  }
  void *address;
  int length;
  CHECK_OK(MPI_Buffer_detach(&address, &length));
  for (int c = 0; c < COMMS; c++) MPI_Comm_free(&comms[c]);
  free(sending);
  return check_end();
}
