// A storm of messages: several threads of every rank send to random ranks, receive from anybody by every means there
// is (wildcard receives, matched probes, probes under a lock, polled receives that are cancelled and posted again),
// and check at the end that every byte came exactly once and in order.
//
// usage: storm SEED THREADS MESSAGES-PER-THREAD
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { LARGEST = 20000, STOP = 0 };
static int size, threads, messages;
static unsigned seed;
static atomic_long received_sum, received_count;
static long sent_sum, sent_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm comms[3];

typedef struct {
  int source, thread, serial, bytes;
  unsigned sum;
} head;

static unsigned next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33);
}
static unsigned digest(const unsigned char *data, int bytes) {
  unsigned sum = 5381;
  for (int i = 0; i < bytes; i++) sum = sum * 33 + data[i];
  return sum;
}

static void *sender(void *argument) {
  int me = (int)(long)argument;
  uint64_t state = seed * 1000003u + (unsigned)(check_rank * 100 + me);
  unsigned char *buffer = malloc(LARGEST);
  long sum = 0, count = 0;
  for (int i = 0; i < messages; i++) {
    // Small ones mostly, some beyond every eager size.
    int bytes = (int)sizeof(head) + (int)(next_random(&state) % (i % 16 ? 200 : LARGEST - sizeof(head)));
    for (int k = sizeof(head); k < bytes; k++) buffer[k] = (unsigned char)next_random(&state);
    head h = {check_rank, me, i, bytes, digest(buffer + sizeof(head), bytes - (int)sizeof(head))};
    memcpy(buffer, &h, sizeof h);
    int target = (int)(next_random(&state) % (unsigned)size), tag = 1 + me;
    MPI_Comm comm = comms[next_random(&state) % 3];
    MPI_Request request;
    switch (next_random(&state) % 3) {
      case 0: CHECK_OK(MPI_Send(buffer, bytes, MPI_BYTE, target, tag, comm)); break;
      case 1: CHECK_OK(MPI_Ssend(buffer, bytes, MPI_BYTE, target, tag, comm)); break;
      default:
        CHECK_OK(MPI_Isend(buffer, bytes, MPI_BYTE, target, tag, comm, &request));
        for (int flag = 0; !flag;) CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    }
    sum += h.sum % 1000, count++;
  }
  pthread_mutex_lock(&lock);
  sent_sum += sum, sent_count += count;
  pthread_mutex_unlock(&lock);
  free(buffer);
  return NULL;
}

// Checks one message; says whether it is the word to stop.
static int take(const unsigned char *buffer, const MPI_Status *status) {
  int bytes;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  if (status->MPI_TAG == STOP) return 1;
  head h;
  CHECK(bytes >= (int)sizeof h);
  memcpy(&h, buffer, sizeof h);
  CHECK_EQUAL(h.bytes, bytes);
  CHECK_EQUAL(h.source, status->MPI_SOURCE);
  CHECK_EQUAL(h.thread, status->MPI_TAG - 1);
  CHECK_EQUAL(digest(buffer + sizeof h, bytes - (int)sizeof h), h.sum);
  atomic_fetch_add(&received_sum, h.sum % 1000);
  atomic_fetch_add(&received_count, 1);
  return 0;
}

// Receives on one communicator until told to stop, by a method of its own.
static void *receiver(void *argument) {
  int me = (int)(long)argument;
  MPI_Comm comm = comms[me];
  unsigned char *buffer = malloc(LARGEST);
  MPI_Status status;
  for (int stop = 0, turn = 0; !stop; turn++) {
    int flag = 0, bytes;
    MPI_Message message;
    MPI_Request request;
    switch ((me + turn) % 4) {
      case 0: CHECK_OK(MPI_Recv(buffer, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status)); break;
      case 1:
        CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        CHECK_OK(MPI_Mrecv(buffer, bytes, MPI_BYTE, &message, &status));
        break;
      case 2:
        CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        CHECK_OK(MPI_Recv(buffer, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status));
        break;
      default:
        CHECK_OK(MPI_Irecv(buffer, LARGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
        for (int i = 0; i < 20 && !flag; i++) CHECK_OK(MPI_Test(&request, &flag, &status));
        if (!flag) {
          int cancelled;
          CHECK_OK(MPI_Cancel(&request));
          CHECK_OK(MPI_Wait(&request, &status));
          MPI_Test_cancelled(&status, &cancelled);
          if (cancelled) continue;
        }
    }
    stop = take(buffer, &status);
  }
  free(buffer);
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  threads = argc > 2 ? atoi(argv[2]) : 3;
  messages = argc > 3 ? atoi(argv[3]) : 200;
  for (int i = 0; i < 3; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t receivers[3], *senders = malloc(sizeof *senders * threads);
  for (long i = 0; i < 3; i++) pthread_create(&receivers[i], NULL, receiver, (void *)i);
  for (long i = 0; i < threads; i++) pthread_create(&senders[i], NULL, sender, (void *)i);
  for (int i = 0; i < threads; i++) pthread_join(senders[i], NULL);
  // All senders of all ranks have ended: what they sent to us comes before the word to stop only from ourselves, so
  // wait until as much was received in all as was sent in all.
  long all_sent = 0, all_received = -1;
  CHECK_OK(MPI_Allreduce(&sent_count, &all_sent, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  while (all_received != all_sent) {
    long mine = atomic_load(&received_count);
    CHECK_OK(MPI_Allreduce(&mine, &all_received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  }
  for (int i = 0; i < 3; i++) CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, check_rank, STOP, comms[i]));
  for (int i = 0; i < 3; i++) pthread_join(receivers[i], NULL);
  long mine = atomic_load(&received_sum), sent = 0, received = 0;
  CHECK_OK(MPI_Allreduce(&mine, &received, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(&sent_sum, &sent, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQUAL(received, sent);
  for (int i = 0; i < 3; i++) MPI_Comm_free(&comms[i]);
  free(senders);
  return check_end();
}
