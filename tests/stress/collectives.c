// Random collective operations on many communicators, ranks arriving at random times: every result is computed from
// the seed and compared.
//
// usage: collectives SEED ROUNDS
#include "check.h"
#include <stdint.h>

static uint64_t common, mine;
static unsigned draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(*state >> 33);
}
// Gives the value that a rank contributes to element i in a round.
static long value(int rank, int round, int i) { return (rank * 31L + round * 7L + i) % 1009; }

// Wastes a random time, now and then a long one, or lets others run.
static void dawdle(void) {
  volatile unsigned work = draw(&mine) % (draw(&mine) % 20 ? 50 : 20000);
  while (work) work--;
  int flag;
  if (draw(&mine) % 4 == 0) MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int seed = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 200;
  common = (uint64_t)seed, mine = (uint64_t)seed * 65537u + (unsigned)check_rank;
  int world_size;
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  enum { COMMS = 6, LARGEST = 5000 };
  MPI_Comm comms[COMMS];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, check_rank / 3, check_rank, &comms[3]);
  MPI_Comm_split(MPI_COMM_WORLD, check_rank * 2 / world_size, -check_rank, &comms[4]);
  MPI_Comm_dup(MPI_COMM_SELF, &comms[5]);
  long *out = malloc(sizeof(long) * LARGEST), *in = malloc(sizeof(long) * LARGEST);
  long *many = malloc(sizeof(long) * 64 * (size_t)world_size), *many_in = malloc(sizeof(long) * 64 * (size_t)world_size);
  for (int round = 0; round < rounds && !check_failures; round++) {
    // All ranks draw the same operation, communicator, size and root.
    unsigned operation = draw(&common) % 9, which = draw(&common) % COMMS, wide = draw(&common);
    unsigned root_draw = draw(&common);
    int count = wide % 8 ? (int)(wide / 8 % 32) : (int)(wide / 8 % LARGEST), block = count % 64;
    MPI_Comm comm = comms[which];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int root = (int)(root_draw % (unsigned)size);
    for (int i = 0; i < count; i++) out[i] = value(rank, round, i), in[i] = -1;
    for (int i = 0; i < block * size; i++) many[i] = value(rank, round, i), many_in[i] = -1;
    dawdle();
    switch (operation) {
      case 0: CHECK_OK(MPI_Barrier(comm)); break;
      case 1:
        CHECK_OK(MPI_Bcast(out, count, MPI_LONG, root, comm));
        for (int i = 0; i < count; i++) CHECK_EQUAL(out[i], value(root, round, i));
        break;
      case 2:
        CHECK_OK(MPI_Allreduce(out, in, count, MPI_LONG, MPI_SUM, comm));
        for (int i = 0; i < count; i++) {
          long sum = 0;
          for (int r = 0; r < size; r++) sum += value(r, round, i);
          CHECK_EQUAL(in[i], sum);
        }
        break;
      case 3:
        CHECK_OK(MPI_Reduce(out, in, count, MPI_LONG, MPI_MAX, root, comm));
        for (int i = 0; i < count && rank == root; i++) {
          long most = 0;
          for (int r = 0; r < size; r++) most = value(r, round, i) > most ? value(r, round, i) : most;
          CHECK_EQUAL(in[i], most);
        }
        break;
      case 4:
        CHECK_OK(MPI_Gather(out, block, MPI_LONG, many_in, block, MPI_LONG, root, comm));
        for (int r = 0; r < size && rank == root; r++)
          for (int i = 0; i < block; i++) CHECK_EQUAL(many_in[r * block + i], value(r, round, i));
        break;
      case 5:
        CHECK_OK(MPI_Scatter(many, block, MPI_LONG, in, block, MPI_LONG, root, comm));
        for (int i = 0; i < block; i++) CHECK_EQUAL(in[i], value(root, round, rank * block + i));
        break;
      case 6:
        CHECK_OK(MPI_Allgather(out, block, MPI_LONG, many_in, block, MPI_LONG, comm));
        for (int r = 0; r < size; r++)
          for (int i = 0; i < block; i++) CHECK_EQUAL(many_in[r * block + i], value(r, round, i));
        break;
      case 7:
        CHECK_OK(MPI_Alltoall(many, block, MPI_LONG, many_in, block, MPI_LONG, comm));
        for (int r = 0; r < size; r++)
          for (int i = 0; i < block; i++) CHECK_EQUAL(many_in[r * block + i], value(r, round, rank * block + i));
        break;
      default:
        CHECK_OK(MPI_Scan(out, in, count, MPI_LONG, MPI_SUM, comm));
        for (int i = 0; i < count; i++) {
          long sum = 0;
          for (int r = 0; r <= rank; r++) sum += value(r, round, i);
          CHECK_EQUAL(in[i], sum);
        }
    }
    if (check_failures) fprintf(stderr, "seed %d, round %d: operation %u, communicator %u, count %d, root %d\n", seed, round, operation, which, count, root);
  }
  free(out), free(in), free(many), free(many_in);
  for (int i = 0; i < COMMS; i++) MPI_Comm_free(&comms[i]);
  return check_end();
}
