// weft-test: faults=yes
// What is wrong is refused with the class that says why; a message that names a handler which is not there fails where its sender
// waits next.
#include "../check.h"
#include <weft_am.h>

static void *handler(Weft_am_context context, int origin, const void *header, size_t header_length, size_t length,
                     Weft_am_completion_handler **completion, void **argument) {
  (void)context, (void)origin, (void)header, (void)header_length, (void)length, (void)completion, (void)argument;
  return NULL;
}

int main(int argc, char **argv) {
  int rank, size, value;
  static char memory[1024];
  static int64_t words[2];
  Weft_am_counter counter = 0;
  Weft_am_context context, none = WEFT_AM_CONTEXT_NULL;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_CLASS(Weft_am_init(MPI_COMM_NULL, &context), MPI_ERR_COMM);
  CHECK_CLASS(Weft_am_init(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
  CHECK_OK(Weft_am_init(MPI_COMM_WORLD, &context));
  CHECK_CLASS(Weft_am_fence(none), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_fence(context + 1), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_term(&none), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_term(NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_register_handler(context, -1, handler), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_register_handler(context, 1, NULL), MPI_ERR_ARG);
  CHECK_OK(Weft_am_qenv(context, WEFT_AM_MOST_HANDLERS, &value));
  CHECK_CLASS(Weft_am_register_handler(context, value, handler), MPI_ERR_ARG);
  CHECK_OK(Weft_am_register_handler(context, value - 1, handler));
  CHECK_CLASS(Weft_am_send(context, size, 0, NULL, 0, NULL, 0, 0, NULL, NULL), MPI_ERR_RANK);
  CHECK_CLASS(Weft_am_send(context, -1, 0, NULL, 0, NULL, 0, 0, NULL, NULL), MPI_ERR_RANK);
  CHECK_CLASS(Weft_am_send(context, 0, value, NULL, 0, NULL, 0, 0, NULL, NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_send(context, 0, 0, NULL, 1, NULL, 0, 0, NULL, NULL), MPI_ERR_BUFFER);
  CHECK_CLASS(Weft_am_send(context, 0, 0, NULL, 0, NULL, 1, 0, NULL, NULL), MPI_ERR_BUFFER);
  CHECK_CLASS(Weft_am_send(context, 0, 0, NULL, 0, NULL, 0, 4, NULL, NULL), MPI_ERR_ARG);
  CHECK_OK(Weft_am_qenv(context, WEFT_AM_MOST_HEADER, &value));
  CHECK_CLASS(Weft_am_send(context, 0, 0, memory, value + 1, NULL, 0, 0, NULL, NULL), MPI_ERR_COUNT);
  CHECK_CLASS(Weft_am_put(context, 0, 1, 0, memory, 0, NULL, NULL), MPI_ERR_BUFFER);
  CHECK_CLASS(Weft_am_put(context, size, 1, 8, memory, 0, NULL, NULL), MPI_ERR_RANK);
  CHECK_CLASS(Weft_am_get(context, 0, 1, 8, NULL, 0, NULL), MPI_ERR_BUFFER);
  CHECK_CLASS(Weft_am_rmw(context, 9, 0, 8, words, NULL, NULL), MPI_ERR_OP);
  CHECK_CLASS(Weft_am_rmw(context, WEFT_AM_SWAP, 0, 9, words, NULL, NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_rmw(context, WEFT_AM_SWAP, 0, 0, words, NULL, NULL), MPI_ERR_BUFFER);
  CHECK_CLASS(Weft_am_rmw(context, WEFT_AM_SWAP, 0, 8, NULL, NULL, NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_waitcntr(context, NULL, 0, NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_getcntr(context, &counter, NULL), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_senv(context, WEFT_AM_SIZE, 1), MPI_ERR_ARG);
  CHECK_CLASS(Weft_am_qenv(context, 99, &value), MPI_ERR_ARG);
  CHECK_OK(Weft_am_qenv(context, WEFT_AM_RANK, &value));
  CHECK_EQUAL(value, rank);
  CHECK_OK(Weft_am_qenv(context, WEFT_AM_SIZE, &value));
  CHECK_EQUAL(value, size);

  // Nobody has registered handler 3.
  int target = size - 1;
  CHECK_OK(Weft_am_send(context, target, 3, NULL, 0, memory, 1000, 0, NULL, &counter));
  CHECK_CLASS(Weft_am_waitcntr(context, &counter, 1, NULL), MPI_ERR_ARG);
  CHECK_OK(Weft_am_send(context, target, 3, NULL, 0, memory, 1000, 0, NULL, NULL));
  CHECK_CLASS(Weft_am_gfence(context), MPI_ERR_ARG);
  CHECK_EQUAL(counter, 0);
  CHECK_OK(Weft_am_fence(context));
  CHECK_OK(Weft_am_term(&context));
  CHECK_CLASS(Weft_am_fence(context), MPI_ERR_ARG);
  return check_end();
}
