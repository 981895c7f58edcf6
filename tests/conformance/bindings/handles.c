// Handles as C integers and as Fortran's: every kind, predefined and created, and handles created after others were
// freed. weft-test: ranks=1,2
#include "check.h"
#include <stdint.h>

// Converts there and back in both ways; different handles give different integers.
#define CHECK_HANDLE(Kind, handle, other)                            \
  do {                                                               \
    CHECK(MPI_##Kind##_fromint(MPI_##Kind##_toint(handle)) == (handle)); \
    CHECK(MPI_##Kind##_f2c(MPI_##Kind##_c2f(handle)) == (handle));   \
    CHECK(MPI_##Kind##_toint(handle) != MPI_##Kind##_toint(other));  \
    CHECK(MPI_##Kind##_c2f(handle) != MPI_##Kind##_c2f(other));      \
  } while (0)

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD));
  MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD));
  CHECK_HANDLE(Comm, MPI_COMM_WORLD, MPI_COMM_NULL);
  MPI_Type_fromint(MPI_Type_toint(MPI_INT));
  MPI_Type_f2c(MPI_Type_c2f(MPI_INT));
  CHECK_HANDLE(Type, MPI_INT, MPI_DATATYPE_NULL);
  MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN));
  MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN));
  CHECK_HANDLE(Errhandler, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL);
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY));
  MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY));
  CHECK_HANDLE(Group, MPI_GROUP_EMPTY, MPI_GROUP_NULL);
  MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC));
  MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC));
  CHECK_HANDLE(Message, MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL);
  MPI_Op_fromint(MPI_Op_toint(MPI_SUM));
  MPI_Op_f2c(MPI_Op_c2f(MPI_SUM));
  CHECK_HANDLE(Op, MPI_SUM, MPI_OP_NULL);
  CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
  CHECK(MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  CHECK(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL);
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
  CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);

  // Predefined handles have their ABI values as integers.
  CHECK_EQUAL(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  CHECK_EQUAL(MPI_Type_toint(MPI_INT), 0x209);
#define CHECK_VALUE(Kind, handle)                            \
  do {                                                       \
    CHECK_EQUAL(MPI_##Kind##_toint(handle), (intptr_t)(handle)); \
    CHECK(MPI_##Kind##_fromint((int)(intptr_t)(handle)) == (handle)); \
  } while (0)
  static const MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_CHAR, MPI_DOUBLE, MPI_AINT, MPI_COUNT, MPI_PACKED,
                                       MPI_BYTE, MPI_INTEGER, MPI_LOGICAL16, MPI_2INT, MPI_C_BOOL, MPI_FLOAT_INT};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) CHECK_VALUE(Type, types[i]);
  static const MPI_Op ops[] = {MPI_OP_NULL, MPI_SUM, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP, MPI_BXOR};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) CHECK_VALUE(Op, ops[i]);
  static const MPI_Errhandler handlers[] = {MPI_ERRHANDLER_NULL, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT,
                                            MPI_ERRORS_RETURN};
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) CHECK_VALUE(Errhandler, handlers[i]);
  CHECK_VALUE(Comm, MPI_COMM_NULL);
  CHECK_VALUE(Comm, MPI_COMM_SELF);
  CHECK_VALUE(Group, MPI_GROUP_NULL);
  CHECK_VALUE(Group, MPI_GROUP_EMPTY);
  CHECK_VALUE(Info, MPI_INFO_NULL);
  CHECK_VALUE(Info, MPI_INFO_ENV);
  CHECK_VALUE(Message, MPI_MESSAGE_NULL);
  CHECK_VALUE(Message, MPI_MESSAGE_NO_PROC);
  CHECK_VALUE(Request, MPI_REQUEST_NULL);
  CHECK_VALUE(Session, MPI_SESSION_NULL);
  CHECK_VALUE(Win, MPI_WIN_NULL);
  CHECK_VALUE(File, MPI_FILE_NULL);

  // A place that is used again gives a handle that is none of the earlier ones, also as an integer.
  MPI_Info infos[4];
  int numbers[4];
  for (int i = 0; i < 4; i++) {
    CHECK_OK(MPI_Info_create(&infos[i]));
    numbers[i] = MPI_Info_toint(infos[i]);
    CHECK_EQUAL(MPI_Info_c2f(infos[i]), numbers[i]);
    CHECK(MPI_Info_fromint(numbers[i]) == infos[i]);
    CHECK(MPI_Info_f2c(numbers[i]) == infos[i]);
    for (int j = 0; j < i; j++) CHECK(numbers[i] != numbers[j]);
    MPI_Info copy = infos[i];
    CHECK_OK(MPI_Info_free(&copy));
    CHECK(copy == MPI_INFO_NULL);
  }

  // A communicator that made the way through an integer still works.
  MPI_Comm dup;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  int size = 0, world_size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  CHECK_OK(MPI_Comm_size(MPI_Comm_f2c(MPI_Comm_c2f(dup)), &size));
  CHECK_EQUAL(size, world_size);
  CHECK_OK(MPI_Comm_free(&dup));
  return check_end();
}
