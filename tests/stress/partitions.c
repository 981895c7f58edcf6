// Partitioned messages between random ranks, in random shapes, started again and again: threads make partitions ready in
// random order while others watch them arrive and a stream of ordinary messages with the same tags goes by.
//
// usage: partitions SEED THREADS ROUNDS
#include "check.h"
#include <pthread.h>
#include <stdint.h>

enum { CHANNELS = 6, TOTAL = 2520, SHAPES = 9 };
static const int shapes[SHAPES] = {1, 2, 3, 5, 8, 21, 60, 315, 2520};
static int size, threads, rounds, current;
static unsigned seed;
static pthread_barrier_t barrier;

typedef struct {
  int peer, partitions, gap;  // the other rank; shape and layout on this side
  int *data;
  MPI_Request request;
} side;
static side sends[CHANNELS], receives[CHANNELS];

static unsigned next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33);
}
static int value(int source, int channel, int round, int i) {
  return (int)((unsigned)source * 40503u + (unsigned)channel * 9176u + (unsigned)round * 5000011u + (unsigned)i);
}

// Fills and makes ready partitions me, me + threads, me + 2 threads, … of every send, in random order.
static void *work(void *argument) {
  int me = (int)(long)argument, *list = malloc(sizeof(int) * TOTAL);
  uint64_t state = seed * 31u + (unsigned)(check_rank * 64 + me);
  for (int round = 0; round < rounds; round++) {
    pthread_barrier_wait(&barrier);
    for (int k = 0; k < CHANNELS; k++) {
      int c = (k + me) % CHANNELS, length = 0, done = 0;
      side *s = &sends[c];
      for (int p = me; p < s->partitions; p += threads) list[length++] = p;
      for (int i = length - 1; i > 0; i--) {
        int j = (int)(next_random(&state) % (unsigned)(i + 1)), swap = list[i];
        list[i] = list[j], list[j] = swap;
      }
      while (done < length) {
        int some = 1 + (int)(next_random(&state) % 40);
        if (some > length - done) some = length - done;
        for (int i = done; i < done + some; i++) {
          int each = TOTAL / s->partitions;
          for (int e = list[i] * each; e < (list[i] + 1) * each; e++)
            s->data[e * s->gap] = value(check_rank, c, current, e);
        }
        if (some == 1) CHECK_OK(MPI_Pready(list[done], s->request));
        else CHECK_OK(MPI_Pready_list(some, list + done, s->request));
        done += some;
      }
      // Somebody else's arrivals, while it is at it.
      side *r = &receives[(c + 1) % CHANNELS];
      int p = (int)(next_random(&state) % (unsigned)r->partitions), flag;
      CHECK_OK(MPI_Parrived(r->request, p, &flag));
      if (flag) {
        int e = p * (TOTAL / r->partitions), channel = (c + 1) % CHANNELS;
        CHECK_EQUAL(r->data[e * r->gap], value(r->peer, channel, current, e));
      }
    }
    pthread_barrier_wait(&barrier);
  }
  free(list);
  return NULL;
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  threads = argc > 2 ? atoi(argv[2]) : 3;
  rounds = argc > 3 ? atoi(argv[3]) : 20;
  MPI_Datatype types[3] = {MPI_DATATYPE_NULL, MPI_INT, MPI_DATATYPE_NULL};
  CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &types[2]));
  CHECK_OK(MPI_Type_commit(&types[2]));
  uint64_t common = seed, own = seed * 7u + (unsigned)check_rank;
  for (int c = 0; c < CHANNELS; c++) {
    // A channel connects every rank with the one `step` places further; some channels share a tag, so that the order of
    // the calls decides.
    int step = (int)(next_random(&common) % (unsigned)size), tag = c / 2;
    sends[c] = (side){(check_rank + step) % size, 0, 0, NULL, MPI_REQUEST_NULL};
    receives[c] = (side){(check_rank + size - step) % size, 0, 0, NULL, MPI_REQUEST_NULL};
    for (int way = 0; way < 2; way++) {
      side *s = way ? &receives[c] : &sends[c];
      s->partitions = shapes[next_random(&own) % SHAPES];
      s->gap = 1 + (int)(next_random(&own) % 2);
      s->data = malloc(sizeof(int) * TOTAL * (size_t)s->gap);
      if (way)
        CHECK_OK(MPI_Precv_init(s->data, s->partitions, TOTAL / s->partitions, types[s->gap], s->peer, tag,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &s->request));
      else
        CHECK_OK(MPI_Psend_init(s->data, s->partitions, TOTAL / s->partitions, types[s->gap], s->peer, tag,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &s->request));
    }
  }
  MPI_Type_free(&types[2]);
  pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
  pthread_t *workers = malloc(sizeof *workers * (size_t)threads);
  for (long i = 0; i < threads; i++) pthread_create(&workers[i], NULL, work, (void *)i);
  for (current = 0; current < rounds; current++) {
    MPI_Request all[2 * CHANNELS];
    int left = (check_rank + size - 1) % size, right = (check_rank + 1) % size, got = -1;
    for (int c = 0; c < CHANNELS; c++) {
      int late = (int)(next_random(&own) % 2);  // Half of the receives start before the sends, half after them.
      if (!late) CHECK_OK(MPI_Start(&receives[c].request));
      CHECK_OK(MPI_Start(&sends[c].request));
      if (late) CHECK_OK(MPI_Start(&receives[c].request));
      all[c] = receives[c].request, all[CHANNELS + c] = sends[c].request;
    }
    pthread_barrier_wait(&barrier);
    CHECK_OK(MPI_Sendrecv(&current, 1, MPI_INT, right, current % 3, &got, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK_EQUAL(got, current);
    // The requests are completed when the threads are through with them: a call on a request that completes elsewhere
    // is not allowed.
    pthread_barrier_wait(&barrier);
    for (int done = 0; done < 2 * CHANNELS;) {
      int places[2 * CHANNELS], count;
      CHECK_OK(MPI_Waitsome(2 * CHANNELS, all, &count, places, MPI_STATUSES_IGNORE));
      for (int i = 0; i < count; i++) {
        int c = places[i];
        if (c >= CHANNELS) continue;
        for (int e = 0; e < TOTAL; e++)
          if (receives[c].data[e * receives[c].gap] != value(receives[c].peer, c, current, e)) {
            CHECK_EQUAL(receives[c].data[e * receives[c].gap], value(receives[c].peer, c, current, e));
            break;
          }
      }
      done += count;
    }
  }
  for (int i = 0; i < threads; i++) pthread_join(workers[i], NULL);
  for (int c = 0; c < CHANNELS; c++) {
    CHECK_OK(MPI_Request_free(&sends[c].request));
    CHECK_OK(MPI_Request_free(&receives[c].request));
    free(sends[c].data), free(receives[c].data);
  }
  free(workers);
  return check_end();
}
