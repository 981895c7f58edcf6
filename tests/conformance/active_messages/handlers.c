// Handlers send messages themselves, and run while their rank waits in MPI; with interrupts also while the rank computes. What is
// waited for in a handler is refused.
#include "../check.h"
#include <weft_am.h>

enum { PASS, COUNT, WAITS };
static int rank, size, laps;
static volatile int counted;
static Weft_am_counter ends;

static void passed(Weft_am_context context, void *argument) {
  int left = (int)(intptr_t)argument;
  if (left > 0) {
    left--;
    CHECK_OK(Weft_am_send(context, (rank + 1) % size, PASS, &left, sizeof left, NULL, 0, 0, NULL, NULL));
  } else {
    laps++;
  }
}

static void *pass(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                  Weft_am_completion_handler **completion, void **argument) {
  int left;
  (void)context;
  CHECK_EQUAL(origin, (rank + size - 1) % size);
  CHECK_EQUAL(header_length, sizeof left);
  CHECK_EQUAL(length, 0);
  memcpy(&left, header, sizeof left);
  *completion = passed;
  *argument = (void *)(intptr_t)left;
  return NULL;
}

static void *count(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                   Weft_am_completion_handler **completion, void **argument) {
  (void)context, (void)origin, (void)header, (void)header_length, (void)length, (void)completion, (void)argument;
  counted++;
  return NULL;
}

static void *waits(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                   Weft_am_completion_handler **completion, void **argument) {
  (void)origin, (void)header, (void)header_length, (void)length, (void)completion, (void)argument;
  CHECK_CLASS(Weft_am_fence(context), MPI_ERR_OTHER);
  CHECK_CLASS(Weft_am_gfence(context), MPI_ERR_OTHER);
  CHECK_CLASS(Weft_am_probe(context), MPI_ERR_OTHER);
  CHECK_CLASS(Weft_am_waitcntr(context, &ends, 1, NULL), MPI_ERR_OTHER);
  counted++;
  return NULL;
}

int main(int argc, char **argv) {
  Weft_am_context context, second;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(Weft_am_init(MPI_COMM_WORLD, &context));
  CHECK_OK(Weft_am_register_handler(context, PASS, pass));
  CHECK_OK(Weft_am_register_handler(context, COUNT, count));
  CHECK_OK(Weft_am_register_handler(context, WAITS, waits));
  MPI_Barrier(MPI_COMM_WORLD);
  // Each rank's message goes round five times; nobody waits for it but in a receive.
  int hops = 5 * size - 1;
  CHECK_OK(Weft_am_send(context, (rank + 1) % size, PASS, &hops, sizeof hops, NULL, 0, 0, NULL, NULL));
  while (laps == 0)
    CHECK_OK(Weft_am_probe(context));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQUAL(laps, 1);

  // All send to rank 0, which waits in a receive meanwhile.
  CHECK_OK(Weft_am_send(context, 0, COUNT, NULL, 0, NULL, 0, 0, NULL, &ends));
  CHECK_OK(Weft_am_send(context, 0, WAITS, NULL, 0, NULL, 0, 0, NULL, &ends));
  if (rank == 0 && size > 1) {
    for (int other = 1; other < size; other++)
      MPI_Recv(NULL, 0, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    CHECK_OK(Weft_am_waitcntr(context, &ends, 2, NULL));
    if (rank > 0)
      MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  CHECK_OK(Weft_am_gfence(context));
  if (rank == 0)
    CHECK_EQUAL(counted, 2 * size);

  // A second context has handlers and messages of its own. With interrupts they run although the rank calls nothing.
  CHECK_OK(Weft_am_init(MPI_COMM_WORLD, &second));
  CHECK(second != context);
  CHECK_OK(Weft_am_register_handler(second, COUNT, count));
  CHECK_OK(Weft_am_senv(second, WEFT_AM_INTERRUPTS, 1));
  counted = 0;
  CHECK_OK(Weft_am_gfence(second));
  CHECK_OK(Weft_am_send(second, (rank + 1) % size, COUNT, NULL, 0, NULL, 0, 0, NULL, NULL));
  while (counted == 0)
    ;
  CHECK_OK(Weft_am_gfence(second));
  CHECK_EQUAL(counted, 1);
  CHECK_OK(Weft_am_term(&second));
  CHECK_OK(Weft_am_term(&context));
  return check_end();
}
