// Handles of created objects of every kind make the way through integers, of C and of Fortran, and work afterwards;
// integers that stand for nothing are refused. weft-test: ranks=1,2,4
#include "check.h"

static void comm_handler(MPI_Comm *comm, int *code, ...) {}
static void add(void *in, void *out, int *count, MPI_Datatype *type) {}
static int query(void *extra, MPI_Status *status) { return MPI_SUCCESS; }
static int no_free(void *extra) { return MPI_SUCCESS; }
static int cancel(void *extra, int complete) { return MPI_SUCCESS; }

#define WAY(Kind, handle)                                                  \
  do {                                                                     \
    int number = MPI_##Kind##_toint(handle);                               \
    CHECK(number >= 4096 || number < 0);                                   \
    CHECK_EQUAL(MPI_##Kind##_toint(handle), number);                       \
    CHECK(MPI_##Kind##_fromint(number) == (handle));                       \
    CHECK(MPI_##Kind##_f2c(MPI_##Kind##_c2f(handle)) == (handle));         \
    handle = MPI_##Kind##_fromint(number);                                 \
  } while (0)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int size, one = 1, got = 0, done = 0;
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  WAY(Comm, comm);
  CHECK_OK(MPI_Comm_size(comm, &size));
  MPI_Group group;
  CHECK_OK(MPI_Comm_group(comm, &group));
  WAY(Group, group);
  CHECK_OK(MPI_Group_size(group, &got));
  CHECK_EQUAL(got, size);
  MPI_Datatype type;
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  WAY(Type, type);
  CHECK_OK(MPI_Type_size(type, &got));
  CHECK_EQUAL(got, 3 * sizeof(int));
  MPI_Op op;
  CHECK_OK(MPI_Op_create(add, 1, &op));
  WAY(Op, op);
  CHECK_OK(MPI_Op_commutative(op, &got));
  CHECK_EQUAL(got, 1);
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  WAY(Info, info);
  CHECK_OK(MPI_Info_set(info, "key", "value"));
  MPI_Errhandler handler;
  CHECK_OK(MPI_Comm_create_errhandler(comm_handler, &handler));
  WAY(Errhandler, handler);
  CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
  MPI_Session session;
  CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  WAY(Session, session);
  CHECK_OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &got));
  CHECK(got >= 2);
  MPI_Win win;
  CHECK_OK(MPI_Win_create(&one, sizeof one, 1, MPI_INFO_NULL, comm, &win));
  WAY(Win, win);
  CHECK_OK(MPI_Win_set_name(win, "window"));
  MPI_Request request, persistent, generalized;
  CHECK_OK(MPI_Irecv(&got, 1, MPI_INT, check_rank, 1, comm, &request));
  WAY(Request, request);
  CHECK_OK(MPI_Send_init(&one, 1, MPI_INT, check_rank, 1, comm, &persistent));
  WAY(Request, persistent);
  CHECK(MPI_Request_toint(persistent) != MPI_Request_toint(request));
  CHECK_OK(MPI_Start(&persistent));
  CHECK_OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Request_free(&persistent));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQUAL(got, 1);
  CHECK_OK(MPI_Grequest_start(query, no_free, cancel, NULL, &generalized));
  WAY(Request, generalized);
  CHECK_OK(MPI_Grequest_complete(generalized));
  CHECK_OK(MPI_Wait(&generalized, MPI_STATUS_IGNORE));
  // A send that is complete at once may have a request that many sends share.
  CHECK_OK(MPI_Isend(&one, 1, MPI_INT, check_rank, 2, comm, &request));
  CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == request);
  CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
  MPI_Message message;
  CHECK_OK(MPI_Mprobe(check_rank, 2, comm, &message, MPI_STATUS_IGNORE));
  WAY(Message, message);
  CHECK_OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // A freed handle's integer leads to nothing that works; nor does one that was never given out.
  MPI_Info freed = info;
  int number = MPI_Info_toint(info);
  CHECK_OK(MPI_Info_free(&info));
  CHECK_CLASS(MPI_Info_get_nkeys(MPI_Info_fromint(number), &got), MPI_ERR_INFO);
  CHECK(MPI_Info_fromint(number) == freed);
  static const int strange[] = {-1, -2, -999999, -1000000 - (1 << 28), 1 << 30, 0x7fffffff, (int)0x80000000};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    CHECK_CLASS(MPI_Comm_size(MPI_Comm_fromint(strange[i]), &got), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Type_size(MPI_Type_f2c(strange[i]), &got), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Group_size(MPI_Group_fromint(strange[i]), &got), MPI_ERR_GROUP);
    request = MPI_Request_fromint(strange[i]);
    CHECK_CLASS(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  }
  CHECK_OK(MPI_Win_free(&win));
  CHECK_OK(MPI_Session_finalize(&session));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_OK(MPI_Op_free(&op));
  CHECK_OK(MPI_Type_free(&type));
  CHECK_OK(MPI_Group_free(&group));
  CHECK_OK(MPI_Comm_free(&comm));
  return check_end();
}
