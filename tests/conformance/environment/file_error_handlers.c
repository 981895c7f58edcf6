// The default error handler of files is that of MPI_FILE_NULL: it takes what fails without an open file.
#include "check.h"

static int calls, last_class;
static MPI_File last_file;

static void handler(MPI_File *file, int *code, ...) {
  calls++;
  last_file = *file;
  MPI_Error_class(*code, &last_class);
}

static void other(MPI_Comm *comm, int *code, ...) { calls += 1000; }

int main(int argc, char **argv) {
  // Errors of files are returned although those of communicators end the job.
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
  MPI_Errhandler mine, found, wrong;
  MPI_File file = MPI_FILE_NULL;
  MPI_Offset size;
  CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK(MPI_File_delete("/nowhere/no such file", MPI_INFO_NULL) != MPI_SUCCESS);
  CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK(MPI_File_get_size(MPI_FILE_NULL, &size) != MPI_SUCCESS);

  CHECK_OK(MPI_File_create_errhandler(handler, &mine));
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
  CHECK(found == mine);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_OK(MPI_Errhandler_free(&mine));
  last_file = file;
  CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/no such file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 1);
  CHECK(last_file == MPI_FILE_NULL);
  CHECK(last_class != MPI_SUCCESS);
  CHECK(MPI_File_delete("/nowhere/no such file", MPI_INFO_NULL) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 2);
  CHECK_OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_NO_SUCH_FILE));
  CHECK_EQUAL(calls, 3);
  CHECK_EQUAL(last_class, MPI_ERR_NO_SUCH_FILE);
  // So does a call without any file.
  CHECK(MPI_Register_datarep("", NULL, NULL, NULL, NULL) != MPI_SUCCESS);
  CHECK_EQUAL(calls, 4);

  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_create_errhandler(other, &wrong));
  CHECK_CLASS(MPI_File_set_errhandler(MPI_FILE_NULL, wrong), MPI_ERR_ERRHANDLER);
  CHECK_OK(MPI_Errhandler_free(&wrong));
  CHECK_EQUAL(calls, 4);
  return check_end();
}
