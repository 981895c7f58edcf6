// Chapters 3 and 13: requests and their completion.
#include "table.h"

static int query(void *state, MPI_Status *s) { (void)state, (void)s; return MPI_SUCCESS; }
static int release(void *state) { (void)state; return MPI_SUCCESS; }
static int cancel(void *state, int complete) { (void)state, (void)complete; return MPI_SUCCESS; }

void requests(void) {
  MPI_Request none[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, stale, others[3];
  MPI_Irecv(ints, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
  stale = request;
  MPI_Send(more, 1, MPI_INT, 0, 9, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  WRONG("a request that was completed or freed already", MPI_ERR_REQUEST, MPI_Wait(&stale, &status));
  WRONG("a request that was completed or freed already", MPI_ERR_REQUEST, MPI_Test(&stale, &flag, &status));
  WRONG("a request that was completed or freed already", MPI_ERR_REQUEST, MPI_Request_free(&stale));
  WRONG("a request that was completed or freed already", MPI_ERR_REQUEST, MPI_Cancel(&stale));
  WRONG("a request that was completed or freed already", MPI_ERR_REQUEST,
        MPI_Request_get_status(stale, &flag, &status));
  others[0] = others[2] = MPI_REQUEST_NULL, others[1] = stale;
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Waitall(3, others, statuses));
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Waitany(3, others, &number, &status));
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Waitsome(3, others, &number, ints, statuses));
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Testall(3, others, &flag, statuses));
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Testany(3, others, &number, &flag, &status));
  WRONG("array_of_requests[1] is ", MPI_ERR_REQUEST, MPI_Testsome(3, others, &number, ints, statuses));
  WRONG("request is zero", MPI_ERR_REQUEST, MPI_Wait(&(MPI_Request){0}, &status));
  WRONG("request is a null pointer", MPI_ERR_ARG, MPI_Wait(NULL, &status));
  WRONG("flag is a null pointer", MPI_ERR_ARG, MPI_Test(none, NULL, &status));
  WRONG("count is -1", MPI_ERR_ARG, MPI_Waitall(-1, none, statuses));
  WRONG("incount is -4", MPI_ERR_ARG, MPI_Waitsome(-4, none, &number, ints, statuses));
  WRONG("incount is -4", MPI_ERR_ARG, MPI_Testsome(-4, none, &number, ints, statuses));
  WRONG("array_of_requests is a null pointer", MPI_ERR_ARG, MPI_Waitall(2, NULL, statuses));
  WRONG("array_of_requests is a null pointer", MPI_ERR_ARG, MPI_Testany(2, NULL, &number, &flag, &status));
  WRONG("index is a null pointer", MPI_ERR_ARG, MPI_Waitany(1, none, NULL, &status));
  WRONG("outcount is a null pointer", MPI_ERR_ARG, MPI_Waitsome(1, none, NULL, ints, statuses));
  WRONG("request is MPI_REQUEST_NULL", MPI_ERR_REQUEST, MPI_Request_free(none));
  WRONG("request is MPI_REQUEST_NULL", MPI_ERR_REQUEST, MPI_Cancel(none));
  WRONG("request is MPI_REQUEST_NULL", MPI_ERR_REQUEST, MPI_Start(none));
  WRONG("request is MPI_COMM_WORLD, a communicator", MPI_ERR_REQUEST, MPI_Wait((MPI_Request *)&world, &status));
  FINE("null requests are complete", MPI_Waitall(3, none, MPI_STATUSES_IGNORE));

  // An operation that is started twice, and one that cannot be started.
  MPI_Recv_init(ints, 1, MPI_INT, 0, 11, MPI_COMM_SELF, &request);
  MPI_Start(&request);
  WRONG("it is active; complete it first", MPI_ERR_REQUEST, MPI_Start(&request));
  others[0] = request;
  WRONG("array_of_requests[0] is ", MPI_ERR_REQUEST, MPI_Startall(1, others));
  MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Request_free(&request);
  MPI_Irecv(ints, 1, MPI_INT, 0, 12, MPI_COMM_SELF, &request);
  WRONG("not a persistent request", MPI_ERR_REQUEST, MPI_Start(&request));
  WRONG("request", MPI_ERR_REQUEST, MPI_Grequest_complete(request));
  MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);

  // The operations of several requests fail: the statuses tell which, and the strings of their codes tell why.
  MPI_Irecv(ints, 1, MPI_INT, 0, 13, MPI_COMM_SELF, others), others[1] = MPI_REQUEST_NULL;
  MPI_Send(more, 5, MPI_INT, 0, 13, MPI_COMM_SELF);
  WRONG("20 bytes", MPI_ERR_IN_STATUS, MPI_Waitall(2, others, statuses));
  row_begin("MPI_Waitall(status)", "20 bytes");
  row_end("MPI_ERR_TRUNCATE", MPI_ERR_TRUNCATE, statuses[0].MPI_ERROR);

  WRONG("query_fn is a null pointer", MPI_ERR_ARG, MPI_Grequest_start(NULL, release, cancel, NULL, &request));
  WRONG("free_fn is a null pointer", MPI_ERR_ARG, MPI_Grequest_start(query, NULL, cancel, NULL, &request));
  WRONG("cancel_fn is a null pointer", MPI_ERR_ARG, MPI_Grequest_start(query, release, NULL, NULL, &request));
  WRONG("request is MPI_REQUEST_NULL", MPI_ERR_REQUEST, MPI_Grequest_complete(MPI_REQUEST_NULL));
  WRONG("status is a null pointer", MPI_ERR_ARG, MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &number));
  WRONG("status is a null pointer", MPI_ERR_ARG, MPI_Test_cancelled(MPI_STATUS_IGNORE, &flag));
  WRONG("count is a null pointer", MPI_ERR_ARG, MPI_Get_count(&status, MPI_INT, NULL));
  WRONG("count is -2", MPI_ERR_COUNT, MPI_Status_set_elements(&status, MPI_INT, -2));
}
