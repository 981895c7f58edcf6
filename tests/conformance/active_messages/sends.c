// Messages of all lengths from each rank to each: the handler runs with their header, the data goes where the handler says, the
// completion handler runs afterwards, and all three counters are counted; in polling mode and with interrupts.
#include "../check.h"
#include <weft_am.h>

enum { MOST = 300000, ROUNDS = 12, HANDLER = 7, NOTHING = 8 };
static const int lengths[] = {0, 1, 8, 1000, 1025, 4000, 40000, MOST};
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths) };

struct header {
  int from, number, length;
  unsigned char seed;
};

static unsigned char *rooms[64];
static int headers_seen, completed, ignored;
static Weft_am_counter arrivals, departures, ends;

static unsigned char byte_of(int place, int seed) { return (unsigned char)(place * 7 + place / 251 + seed); }

static void done(Weft_am_context context, void *argument) {
  struct header *kept = argument;
  unsigned char *room = rooms[kept->from];
  (void)context;
  for (int i = 0; i < kept->length; i++)
    if (room[i] != byte_of(i, kept->seed)) {
      CHECK(!"the data is what was sent");
      break;
    }
  free(kept);
  completed++;
}

static void *begin(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                   Weft_am_completion_handler **completion, void **argument) {
  struct header *kept = malloc(sizeof *kept);
  (void)context;
  CHECK_EQUAL(header_length, sizeof *kept);
  memcpy(kept, header, sizeof *kept);
  CHECK_EQUAL(kept->from, origin);
  CHECK_EQUAL(kept->length, length);
  headers_seen++;
  *completion = done;
  *argument = kept;
  return rooms[origin];
}

static void *ignore(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                    Weft_am_completion_handler **completion, void **argument) {
  (void)context, (void)origin, (void)header, (void)completion, (void)argument;
  CHECK_EQUAL(header_length, 0);
  CHECK_EQUAL(length, 5000);
  ignored++;
  return NULL;
}

int main(int argc, char **argv) {
  static unsigned char data[MOST];
  int rank, size, value;
  int64_t left;
  Weft_am_context context;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < size; i++)
    rooms[i] = malloc(MOST);
  CHECK_OK(Weft_am_init(MPI_COMM_WORLD, &context));
  CHECK_OK(Weft_am_register_handler(context, HANDLER, begin));
  CHECK_OK(Weft_am_register_handler(context, NOTHING, ignore));
  Weft_am_address *counters = malloc(size * sizeof *counters);
  CHECK_OK(Weft_am_address_init(context, &arrivals, counters));
  for (int mode = 0; mode < 2; mode++) {
    CHECK_OK(Weft_am_senv(context, WEFT_AM_INTERRUPTS, mode));
    CHECK_OK(Weft_am_qenv(context, WEFT_AM_INTERRUPTS, &value));
    CHECK_EQUAL(value, mode);
    headers_seen = completed = ignored = 0;
    CHECK_OK(Weft_am_gfence(context));
    for (int round = 0; round < ROUNDS; round++) {
      struct header header = {rank, round, lengths[(round + rank) % LENGTHS], (unsigned char)(rank * 3 + round)};
      for (int i = 0; i < header.length; i++)
        data[i] = byte_of(i, header.seed);
      for (int target = 0; target < size; target++)
        CHECK_OK(Weft_am_send(context, target, HANDLER, &header, sizeof header, data, header.length, counters[target],
                              &departures, &ends));
      // The memory may be used again.
      CHECK_OK(Weft_am_waitcntr(context, &departures, size, &left));
      CHECK_EQUAL(left, 0);
      memset(data, 0xdd, header.length);
      // Each rank has one room for each other, which must have been looked at before the next message.
      CHECK_OK(Weft_am_waitcntr(context, &ends, size, &left));
    }
    for (int target = 0; target < size; target++)
      CHECK_OK(Weft_am_send(context, target, NOTHING, NULL, 0, data, 5000, 0, NULL, NULL));
    CHECK_OK(Weft_am_waitcntr(context, &arrivals, ROUNDS * size, NULL));
    CHECK_OK(Weft_am_gfence(context));
    CHECK_EQUAL(headers_seen, ROUNDS * size);
    CHECK_EQUAL(completed, ROUNDS * size);
    CHECK_EQUAL(ignored, size);
    CHECK_OK(Weft_am_getcntr(context, &arrivals, &left));
    CHECK_EQUAL(left, 0);
  }
  CHECK_OK(Weft_am_term(&context));
  CHECK_EQUAL(context, WEFT_AM_CONTEXT_NULL);
  return check_end();
}
