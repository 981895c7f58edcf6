// Cancels race with receives: threads of every rank send, short and long, standard and synchronous, nonblocking and
// persistent, and cancel some at a random moment, while threads of the receiver take messages by every means and cancel
// receives of their own. Every send ends either cancelled or received, never both and never neither.
//
// usage: cancels SEED THREADS MESSAGES-PER-THREAD
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { LARGEST = 3000, STOP = 1 << 20, RECEIVERS = 2 };  // LARGEST: ints
static int size, threads, messages;
static unsigned seed;
// Per rank: what was sent there and not cancelled, and what came from there. Sums of mixed numbers tell who is missing.
static atomic_ulong *sent, *received;
static atomic_int cancelled_count, stopped;

static unsigned next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33);
}
static unsigned long mixed(int source, int thread, int serial) {
  uint64_t x = (uint64_t)source << 42 | (uint64_t)thread << 32 | (unsigned)serial;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return (unsigned long)(x ^ x >> 31);
}
static void dawdle(unsigned turns) {
  for (volatile unsigned i = 0; i < turns; i++) {}
}

static void *sender(void *argument) {
  int me = (int)(long)argument, *data = malloc(LARGEST * sizeof(int));
  uint64_t state = seed * 97u + (unsigned)(check_rank * 64 + me);
  for (int i = 0; i < messages; i++) {
    int target = (int)(next_random(&state) % (unsigned)size);
    int length = 2 + (int)(next_random(&state) % (i % 3 ? 20 : LARGEST - 2));
    unsigned random = next_random(&state);
    int persistent = random % 4 == 0, cancels = random % 3 != 0, cancelled = 0, starts = persistent ? 2 : 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    if (persistent) CHECK_OK(MPI_Ssend_init(data, length, MPI_INT, target, me, MPI_COMM_WORLD, &request));
    for (int start = 0; start < starts; start++) {
      int serial = 2 * i + start;
      data[0] = serial;
      for (int k = 1; k < length; k++) data[k] = serial ^ k;
      if (persistent) CHECK_OK(MPI_Start(&request));
      else if (random >> 4 & 1) CHECK_OK(MPI_Isend(data, length, MPI_INT, target, me, MPI_COMM_WORLD, &request));
      else CHECK_OK(MPI_Issend(data, length, MPI_INT, target, me, MPI_COMM_WORLD, &request));
      if (cancels) {
        dawdle(next_random(&state) % 2000);
        CHECK_OK(MPI_Cancel(&request));
      }
      if (random >> 5 & 1) CHECK_OK(MPI_Wait(&request, &status));
      else
        for (int flag = 0; !flag;) CHECK_OK(MPI_Test(&request, &flag, &status));
      CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
      CHECK(!cancelled || cancels);
      if (!cancelled) atomic_fetch_add(&sent[target], mixed(check_rank, me, serial));
      else atomic_fetch_add(&cancelled_count, 1);
      memset(data, -1, (size_t)length * sizeof(int));  // Whoever still read it would see.
    }
    if (persistent) CHECK_OK(MPI_Request_free(&request));
  }
  free(data);
  return NULL;
}

static void take(const int *data, const MPI_Status *status) {
  int count;
  if (status->MPI_TAG == STOP) {
    atomic_store(&stopped, 1);
    return;
  }
  MPI_Get_count(status, MPI_INT, &count);
  for (int k = 1; k < count; k++)
    if (data[k] != (data[0] ^ k)) {
      CHECK_EQUAL(data[k], data[0] ^ k);
      break;
    }
  atomic_fetch_add(&received[status->MPI_SOURCE], mixed(status->MPI_SOURCE, status->MPI_TAG, data[0]));
}

// Receives until the rank says that all senders are through; nothing here waits for a message that may be cancelled.
static void *receiver(void *argument) {
  int me = (int)(long)argument, *data = malloc(LARGEST * sizeof(int));
  uint64_t state = seed * 89u + (unsigned)(check_rank * 8 + me);
  while (!atomic_load(&stopped)) {
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    int flag = 0, cancelled = 0, tag = next_random(&state) % 2 ? MPI_ANY_TAG : (int)(next_random(&state) % (unsigned)threads);
    switch (next_random(&state) % 3) {
      case 0:
        CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status));
        if (!flag) continue;
        dawdle(next_random(&state) % 1000);  // The sender may cancel now, in vain.
        CHECK_OK(MPI_Mrecv(data, LARGEST, MPI_INT, &message, &status));
        break;
      case 1:
        CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message, &status));
        if (!flag) continue;
        CHECK_OK(MPI_Imrecv(data, LARGEST, MPI_INT, &message, &request));
        CHECK_OK(MPI_Wait(&request, &status));
        break;
      default:
        CHECK_OK(MPI_Irecv(data, LARGEST, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request));
        for (unsigned i = next_random(&state) % 30; i && !flag; i--) CHECK_OK(MPI_Test(&request, &flag, &status));
        if (!flag) {
          CHECK_OK(MPI_Cancel(&request));
          CHECK_OK(MPI_Wait(&request, &status));
          CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
          if (cancelled) continue;
        }
    }
    take(data, &status);
  }
  free(data);
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  threads = argc > 2 ? atoi(argv[2]) : 2;
  messages = argc > 3 ? atoi(argv[3]) : 200;
  sent = calloc((size_t)size, sizeof *sent);
  received = calloc((size_t)size, sizeof *received);
  pthread_t receivers[RECEIVERS], *senders = malloc(sizeof *senders * (size_t)threads);
  for (long i = 0; i < RECEIVERS; i++) pthread_create(&receivers[i], NULL, receiver, (void *)i);
  for (long i = 1; i < threads; i++) pthread_create(&senders[i], NULL, sender, (void *)i);
  sender(NULL);
  for (int i = 1; i < threads; i++) pthread_join(senders[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_Send(NULL, 0, MPI_INT, check_rank, STOP, MPI_COMM_WORLD));
  for (int i = 0; i < RECEIVERS; i++) pthread_join(receivers[i], NULL);
  // What was sent and not cancelled is here by now, received or not.
  int *data = malloc(LARGEST * sizeof(int));
  for (int flag = 1; flag;) {
    MPI_Status status;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    if (!flag) break;
    CHECK_OK(MPI_Recv(data, LARGEST, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
    take(data, &status);
  }
  unsigned long *theirs = malloc(sizeof(long) * (size_t)size);
  CHECK_OK(MPI_Alltoall(sent, 1, MPI_UNSIGNED_LONG, theirs, 1, MPI_UNSIGNED_LONG, MPI_COMM_WORLD));
  for (int rank = 0; rank < size; rank++)
    if (theirs[rank] != received[rank] && check_failures++ < 10)
      fprintf(stderr, "rank %d: what rank %d sent and did not cancel is not what was received\n", check_rank, rank);
  free(data), free(theirs), free(senders);
  return check_end();
}
