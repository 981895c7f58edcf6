// Generalized requests: which callback is called by which procedure, how often, in which order, with what; and what
// becomes of the codes they return.
#include "../check.h"

typedef struct {
  int queries, frees, cancels, complete, query_code, free_code, cancel_code, cancelled, source, tag, elements;
  char log[64];
} State;

static void note(State *state, char what) {
  size_t length = strlen(state->log);
  if (length + 1 < sizeof(state->log))
    state->log[length] = what, state->log[length + 1] = 0;
}

static int query_fn(void *extra_state, MPI_Status *status) {
  State *state = extra_state;
  CHECK(status != MPI_STATUS_IGNORE);
  state->queries++;
  note(state, 'q');
  CHECK_OK(MPI_Status_set_elements(status, MPI_INT, state->elements));
  CHECK_OK(MPI_Status_set_cancelled(status, state->cancelled));
  status->MPI_SOURCE = state->source;
  CHECK_OK(MPI_Status_set_tag(status, state->tag));
  return state->query_code;
}
static int free_fn(void *extra_state) {
  State *state = extra_state;
  state->frees++;
  note(state, 'f');
  return state->free_code;
}
static int cancel_fn(void *extra_state, int complete) {
  State *state = extra_state;
  state->cancels++;
  state->complete = complete;
  note(state, 'c');
  if (!complete)
    state->cancelled = 1;
  return state->cancel_code;
}

static MPI_Request start(State *state) {
  MPI_Request request = MPI_REQUEST_NULL;
  memset(state, 0, sizeof(*state));
  state->source = 31, state->tag = 32, state->elements = 5;
  CHECK_OK(MPI_Grequest_start(query_fn, free_fn, cancel_fn, state, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

static void check_status(const MPI_Status *status) {
  int count = -1;
  CHECK_EQUAL(status->MPI_SOURCE, 31);
  CHECK_EQUAL(status->MPI_TAG, 32);
  CHECK_OK(MPI_Get_count(status, MPI_INT, &count));
  CHECK_EQUAL(count, 5);
}
#define CHECK_LOG(state, expected)                                                                  \
  do {                                                                                               \
    if (strcmp((state).log, expected) && check_failures++ < 10)                                      \
      fprintf(stderr, "%s:%d: callbacks were \"%s\", not \"%s\"\n", __FILE__, __LINE__, (state).log, expected); \
  } while (0)

int main(int argc, char **argv) {
  int rank, flag, index, count, indices[4], code, class;
  check_init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  State state, states[3];
  MPI_Status status, statuses[4];
  MPI_Request request, copy, requests[4];
  memset(&status, 0, sizeof(status));

  // Not complete: no callback at all. Complete: query and free in the completing call, the error field untouched.
  request = start(&state);
  CHECK_OK(MPI_Test(&request, &flag, &status));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Request_get_status(request, &flag, &status));
  CHECK_EQUAL(flag, 0);
  CHECK_LOG(state, "");
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_LOG(state, "");
  status.MPI_ERROR = 4711;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_EQUAL(status.MPI_ERROR, 4711);
  check_status(&status);
  CHECK_LOG(state, "qf");

  // Inquiries query each time and free nothing.
  request = start(&state);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST); // Once is enough.
  for (int i = 0; i < 3; i++) {
    CHECK_OK(MPI_Request_get_status(request, &flag, i ? &status : MPI_STATUS_IGNORE));
    CHECK_EQUAL(flag, 1);
  }
  check_status(&status);
  CHECK_OK(MPI_Request_get_status_any(1, &request, &index, &flag, &status));
  CHECK(flag == 1 && index == 0);
  CHECK_OK(MPI_Request_get_status_all(1, &request, &flag, statuses));
  CHECK_OK(MPI_Request_get_status_some(1, &request, &count, indices, MPI_STATUSES_IGNORE));
  CHECK(count == 1 && indices[0] == 0);
  CHECK_LOG(state, "qqqqqq");
  CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  CHECK(flag == 1 && request == MPI_REQUEST_NULL);
  CHECK_LOG(state, "qqqqqqqf");

  // Freed when complete: free in MPI_Request_free. Freed before: in MPI_Grequest_complete, by a copy of the handle.
  request = start(&state);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_LOG(state, "f");
  request = copy = start(&state);
  CHECK_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_LOG(state, "");
  CHECK_OK(MPI_Grequest_complete(copy));
  CHECK_LOG(state, "f");
  CHECK_CLASS(MPI_Grequest_complete(copy), MPI_ERR_REQUEST); // Gone.
  CHECK_CLASS(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  CHECK_EQUAL(state.frees, 1);

  // Cancel tells the callback whether the operation is complete; it is the program that ends it.
  request = start(&state);
  CHECK_OK(MPI_Cancel(&request));
  CHECK(state.cancels == 1 && state.complete == 0);
  CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  CHECK_EQUAL(flag, 0);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQUAL(flag, 1);
  CHECK_LOG(state, "cqf");
  request = start(&state);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Cancel(&request));
  CHECK(state.cancels == 1 && state.complete != 0);
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQUAL(flag, 0);

  // Codes: single completions return that of the last callback that failed, inquiries and cancels their own; a code may be
  // one the program has added.
  CHECK_OK(MPI_Add_error_class(&class));
  CHECK_OK(MPI_Add_error_code(class, &code));
  request = start(&state);
  state.query_code = MPI_ERR_OTHER, state.cancel_code = code;
  CHECK_EQUAL(MPI_Cancel(&request), code);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_CLASS(MPI_Request_get_status(request, &flag, &status), MPI_ERR_OTHER);
  CHECK_EQUAL(flag, 1);
  check_status(&status);
  CHECK_CLASS(MPI_Request_get_status_any(1, &request, &index, &flag, &status), MPI_ERR_OTHER);
  CHECK_EQUAL(index, 0);
  statuses[0].MPI_ERROR = 0;
  CHECK_CLASS(MPI_Request_get_status_all(1, &request, &flag, statuses), MPI_ERR_IN_STATUS);
  CHECK_EQUAL(statuses[0].MPI_ERROR, MPI_ERR_OTHER);
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_OTHER); // The free function has worked.
  CHECK(request == MPI_REQUEST_NULL);
  request = start(&state);
  state.free_code = code;
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_EQUAL(MPI_Test(&request, &flag, &status), code);
  CHECK(flag == 1 && request == MPI_REQUEST_NULL);
  check_status(&status);
  request = start(&state);
  state.free_code = code, state.query_code = MPI_ERR_OTHER;
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_EQUAL(MPI_Wait(&request, &status), code);
  CHECK(request == MPI_REQUEST_NULL);
  check_status(&status);
  request = start(&state);
  state.free_code = code;
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_EQUAL(MPI_Waitany(1, &request, &index, &status), code);
  CHECK_EQUAL(index, 0);
  request = start(&state);
  state.free_code = code;
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_EQUAL(MPI_Request_free(&request), code);
  CHECK_EQUAL(state.frees, 1);
  request = copy = start(&state);
  state.free_code = code;
  CHECK_OK(MPI_Request_free(&request));
  CHECK_EQUAL(MPI_Grequest_complete(copy), code);
  CHECK_EQUAL(state.frees, 1);

  // Several at once, beside receives and null requests: each complete one gets its callbacks, each status its code.
  for (int way = 0; way < 4; way++) {
    int got = -1, sent = rank;
    for (int i = 0; i < 3; i++) {
      requests[i] = start(&states[i]);
      states[i].free_code = i == 1 ? code : MPI_SUCCESS;
      states[i].query_code = i == 2 ? MPI_ERR_OTHER : MPI_SUCCESS;
    }
    CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &requests[3]));
    CHECK_OK(MPI_Testall(4, requests, &flag, statuses));
    CHECK_EQUAL(flag, 0);
    CHECK_OK(MPI_Testsome(4, requests, &count, indices, statuses));
    CHECK_EQUAL(count, 0);
    CHECK_OK(MPI_Testany(4, requests, &index, &flag, &status));
    CHECK(flag == 0 && index == MPI_UNDEFINED);
    CHECK_OK(MPI_Grequest_complete(requests[0]));
    CHECK_OK(MPI_Testall(4, requests, &flag, statuses));
    CHECK_EQUAL(flag, 0);
    CHECK_EQUAL(states[0].queries + states[0].frees, 0); // Nothing is completed when not all are.
    CHECK_OK(MPI_Grequest_complete(requests[2]));
    CHECK_OK(MPI_Grequest_complete(requests[1]));
    CHECK_OK(MPI_Send(&sent, 1, MPI_INT, rank, 9, MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++)
      statuses[i].MPI_ERROR = -1;
    flag = 1, count = 4;
    for (int i = 0; i < 4; i++)
      indices[i] = i;
    if (way == 0)
      CHECK_CLASS(MPI_Waitall(4, requests, statuses), MPI_ERR_IN_STATUS);
    else if (way == 1)
      CHECK_CLASS(MPI_Testall(4, requests, &flag, statuses), MPI_ERR_IN_STATUS);
    else if (way == 2)
      CHECK_CLASS(MPI_Waitsome(4, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    else
      CHECK_CLASS(MPI_Testsome(4, requests, &count, indices, statuses), MPI_ERR_IN_STATUS);
    CHECK(flag == 1 && count == 4 && got == rank);
    for (int i = 0; i < 4; i++) {
      int place = indices[i];
      CHECK(requests[place] == MPI_REQUEST_NULL);
      CHECK_EQUAL(statuses[i].MPI_ERROR, place == 1 ? code : place == 2 ? MPI_ERR_OTHER : MPI_SUCCESS);
      if (place < 3) {
        check_status(&statuses[i]);
        CHECK_LOG(states[place], "qf");
      } else {
        CHECK_EQUAL(statuses[i].MPI_SOURCE, rank);
      }
    }
  }

  CHECK_CLASS(MPI_Grequest_start(query_fn, free_fn, cancel_fn, &state, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Grequest_start(NULL, free_fn, cancel_fn, &state, &request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Irecv(&count, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Cancel(&request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  request = start(&state);
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return check_end();
}
