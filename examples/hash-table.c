// A hash table spread over all ranks, by active messages: a message carries a key and a value to the rank whose part of the table
// the key belongs to, and a handler puts them there. Each rank then reads what it has put, by messages that are answered. Ends with
// 1 if something is missing or wrong.
//
// usage: hash-table [ENTRIES A RANK]
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft_am.h>

enum { INSERT, FIND, FOUND };

typedef struct {
  uint64_t key, value;
} Entry;

static int rank, size;
static Entry *part;
static uint64_t slots, entries;
static uint64_t found, wrong;

static uint64_t mixed(uint64_t key) {
  key ^= key >> 31;
  key *= 0x7fb5d329728ea185u;
  key ^= key >> 27;
  key *= 0x81dadef4bc2dd44du;
  return key ^ key >> 33;
}

static int owner(uint64_t key) { return (int)(mixed(key) % (uint64_t)size); }

static uint64_t value_of(uint64_t key) { return key * 3 + 1; }

// Returns the slot of a key, or the free one where it belongs.
static Entry *slot(uint64_t key) {
  uint64_t place = mixed(key) / (uint64_t)size % slots;
  while (part[place].key != 0 && part[place].key != key)
    place = (place + 1) % slots;
  return &part[place];
}

// The handlers need only the header: no data follows it.
#define HANDLER(name)                                                                                                  \
  static void *name(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,      \
                    Weft_am_completion_handler **completion, void **argument)
#define UNUSED (void)context, (void)origin, (void)header_length, (void)length, (void)completion, (void)argument

HANDLER(insert) {
  UNUSED;
  const Entry *entry = header;
  *slot(entry->key) = *entry;
  entries++;
  return NULL;
}

HANDLER(find) {
  UNUSED;
  const uint64_t *key = header;
  Weft_am_send(context, origin, FOUND, slot(*key), sizeof(Entry), NULL, 0, 0, NULL, NULL);
  return NULL;
}

HANDLER(take) {
  UNUSED;
  const Entry *entry = header;
  found++;
  wrong += entry->key == 0 || entry->value != value_of(entry->key);
  return NULL;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  uint64_t mine = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  // Keys are not spread evenly.
  slots = 4 * mine + 1000;
  part = calloc(slots, sizeof *part);
  Weft_am_context context;
  Weft_am_init(MPI_COMM_WORLD, &context);
  Weft_am_register_handler(context, INSERT, insert);
  Weft_am_register_handler(context, FIND, find);
  Weft_am_register_handler(context, FOUND, take);
  Weft_am_gfence(context);

  double start = MPI_Wtime();
  for (uint64_t i = 0; i < mine; i++) {
    uint64_t key = 1 + (uint64_t)rank * mine + i;
    Entry entry = {key, value_of(key)};
    Weft_am_send(context, owner(key), INSERT, &entry, sizeof entry, NULL, 0, 0, NULL, NULL);
  }
  // When all ranks' messages have come to their end the table is complete.
  Weft_am_gfence(context);
  double inserted = MPI_Wtime();
  for (uint64_t i = 0; i < mine; i++) {
    uint64_t key = 1 + (uint64_t)rank * mine + i;
    Weft_am_send(context, owner(key), FIND, &key, sizeof key, NULL, 0, 0, NULL, NULL);
  }
  // The questions have come to their end after the first fence, and the answers, which handlers have sent, after the second one.
  Weft_am_gfence(context);
  Weft_am_gfence(context);
  double end = MPI_Wtime();

  wrong += found != mine;
  uint64_t sums[2] = {entries, wrong}, all[2];
  MPI_Allreduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  int failed = all[0] != mine * (uint64_t)size || all[1] != 0;
  if (rank == 0)
    printf("hash-table: %llu entries of %d ranks, %.3f us to insert one, %.3f us to find one: %s\n",
           (unsigned long long)all[0], size, (inserted - start) * 1e6 / (double)mine, (end - inserted) * 1e6 / (double)mine,
           failed ? "WRONG" : "right");
  Weft_am_term(&context);
  free(part);
  MPI_Finalize();
  return failed;
}
