// MPI_Comm_idup and MPI_Comm_idup_with_info: nonblocking, several at once, attributes copied at the call, every way of
// completing, use before completion.
#include "check.h"

static int copies, deletions;
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval, (void)extra;
  copies++, *(void **)out = in, *flag = 1;
  return MPI_SUCCESS;
}
static int delete(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  deletions++;
  return MPI_SUCCESS;
}
static int failing_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_INTERN;
}

// A sum over all ranks, to see that all of them have the same communicator.
static void use(MPI_Comm comm, int salt) {
  int size, sum = 0, mine = check_rank * salt;
  MPI_Comm_size(comm, &size);
  CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQUAL(sum, salt * size * (size - 1) / 2);
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, result, flag, keyval, done = 0;
  void *value;
  MPI_Comm parent, child, children[6];
  MPI_Request request, requests[6];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  CHECK_OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));

  // Nobody waits for the others before the request is completed: the last rank begins only when it hears of the first.
  int token = 0, last = size - 1;
  if (check_rank == last && size > 1) CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_idup(parent, &child, &request));
  if (check_rank == 0 && size > 1) CHECK_OK(MPI_Send(&token, 1, MPI_INT, last, 0, MPI_COMM_WORLD));
  CHECK(request != MPI_REQUEST_NULL);
  // It is there at once: what is local may be set before the request is complete, and ranks may meet on it.
  char name[MPI_MAX_OBJECT_NAME];
  int namelen;
  MPI_Errhandler early;
  CHECK_OK(MPI_Comm_set_errhandler(child, MPI_ERRORS_ABORT));
  CHECK_OK(MPI_Comm_set_name(child, "early"));
  CHECK_OK(MPI_Comm_size(child, &result));
  CHECK_EQUAL(result, size);
  use(child, 7);
  MPI_Status status;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_OK(MPI_Comm_get_errhandler(child, &early));
  CHECK(early == MPI_ERRORS_ABORT);
  CHECK_OK(MPI_Comm_get_name(child, name, &namelen));
  CHECK(strcmp(name, "early") == 0);
  CHECK_OK(MPI_Comm_compare(parent, child, &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  use(child, 1);
  CHECK_OK(MPI_Comm_free(&child));

  // Attributes and error handler are those of the moment of the call.
  CHECK_OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
  CHECK_OK(MPI_Comm_set_attr(parent, keyval, &size));
  CHECK_OK(MPI_Comm_idup(parent, &child, &request));
  CHECK_EQUAL(copies, 1);
  CHECK_OK(MPI_Comm_set_attr(parent, keyval, &token));
  CHECK_OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_get_attr(child, keyval, &value, &flag));
  CHECK(flag && value == &size);
  MPI_Errhandler errhandler;
  CHECK_OK(MPI_Comm_get_errhandler(child, &errhandler));
  CHECK(errhandler == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  CHECK_EQUAL(deletions, 1);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_EQUAL(deletions, 2);

  // Several at once, all ways of completing them, in another order on every rank.
  MPI_Info info, used;
  char text[8];
  int length = sizeof text;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_source", "true");
  for (int i = 0; i < 6; i++) {
    if (i == 3) {
      CHECK_OK(MPI_Comm_idup_with_info(parent, info, &children[i], &requests[i]));
      MPI_Info_set(info, "mpi_assert_no_any_source", "false");
    } else {
      CHECK_OK(MPI_Comm_idup(parent, &children[i], &requests[i]));
    }
  }
  int first = check_rank % 6, index, indices[6], count;
  CHECK_OK(MPI_Wait(&requests[first], MPI_STATUS_IGNORE));
  do CHECK_OK(MPI_Test(&requests[(first + 1) % 6], &done, MPI_STATUS_IGNORE));
  while (!done);
  CHECK_OK(MPI_Waitany(6, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index != MPI_UNDEFINED && index != first);
  CHECK_OK(MPI_Waitsome(6, requests, &count, indices, MPI_STATUSES_IGNORE));
  CHECK(count >= 1);
  do CHECK_OK(MPI_Testall(6, requests, &done, MPI_STATUSES_IGNORE));
  while (!done);
  for (int i = 0; i < 6; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
  for (int i = 5; i >= 0; i--) use(children[i], i + 1);
  CHECK_OK(MPI_Comm_get_info(children[3], &used));
  CHECK_OK(MPI_Info_get_string(used, "mpi_assert_no_any_source", &length, text, &flag));
  CHECK(flag && strcmp(text, "true") == 0);
  MPI_Info_free(&used), MPI_Info_free(&info);
  for (int i = 0; i < 6; i++) CHECK_OK(MPI_Comm_free(&children[i]));

  // The request says that it is complete, though it is not freed yet. The
  // duplicate may go before its request.
  CHECK_OK(MPI_Comm_idup(parent, &child, &request));
  do CHECK_OK(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
  while (!done);
  use(child, 3);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_idup(parent, &child, &request));
  CHECK_OK(MPI_Comm_set_attr(child, keyval, &done));
  CHECK_OK(MPI_Comm_get_attr(child, keyval, &value, &flag));
  CHECK(flag && value == &done);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // The parent may go before the request is complete; a duplicate of a duplicate; MPI_COMM_SELF.
  CHECK_OK(MPI_Comm_delete_attr(parent, keyval));
  CHECK_OK(MPI_Comm_idup(parent, &child, &request));
  CHECK_OK(MPI_Comm_free(&parent));
  CHECK_OK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
  use(child, 5);
  CHECK_OK(MPI_Comm_idup(child, &parent, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  use(parent, 2);
  CHECK_OK(MPI_Comm_idup(MPI_COMM_SELF, &children[0], &requests[0]));
  CHECK_OK(MPI_Comm_idup(MPI_COMM_SELF, &children[1], &requests[1]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, 0, i, &token, 1, MPI_INT, 0, i, children[i], MPI_STATUS_IGNORE));
    CHECK_EQUAL(token, check_rank);
  }
  CHECK_OK(MPI_Comm_compare(children[0], children[1], &result));
  CHECK_EQUAL(result, MPI_CONGRUENT);
  CHECK_OK(MPI_Comm_free(&children[0]));
  CHECK_OK(MPI_Comm_free(&children[1]));

  // A copy function that fails makes the call fail; there is no request and no communicator.
  int bad;
  CHECK_OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_create_keyval(failing_copy, MPI_COMM_NULL_DELETE_FN, &bad, NULL));
  CHECK_OK(MPI_Comm_set_attr(parent, keyval, &size));
  CHECK_OK(MPI_Comm_set_attr(parent, bad, NULL));
  int before = deletions;
  CHECK_CLASS(MPI_Comm_idup(parent, &children[2], &request), MPI_ERR_INTERN);
  CHECK(children[2] == MPI_COMM_NULL);
  // What had been copied was deleted again.
  CHECK_EQUAL(deletions, before + 1);
  CHECK_OK(MPI_Comm_free(&child));
  CHECK_OK(MPI_Comm_free(&parent));
  CHECK_CLASS(MPI_Comm_idup(MPI_COMM_NULL, &child, &request), MPI_ERR_COMM);
  MPI_Comm_free_keyval(&keyval), MPI_Comm_free_keyval(&bad);
  return check_end();
}
