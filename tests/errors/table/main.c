#include "table.h"

int rank, size, ints[64], more[64], flag, number, position;
MPI_Status status, statuses[4];
MPI_Comm world;
MPI_Request request = MPI_REQUEST_NULL;
MPI_Datatype raw, vector;
char text[8192], long_text[8192];

static char name[256], row_call[64];
static const char *row_words;

static void bad(const char *reason, const char *detail) {
  printf("bad %s | rank %d: %s%s\n", name, rank, reason, detail);
  fflush(stdout);
}

void row_begin(const char *call, const char *words) {
  size_t length = strcspn(call, "(");
  snprintf(row_call, sizeof(row_call), "%.*s", (int)length, call);
  snprintf(name, sizeof(name), "%s: %s", row_call, words);
  row_words = words;
  if (rank == 0) printf("row %s\n", name), fflush(stdout);
}

void row_end(const char *class_name, int expected, int code) {
  char message[MPI_MAX_ERROR_STRING] = "", reason[MPI_MAX_ERROR_STRING + 100];
  int class = -1, length = 0;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, message, &length);
  snprintf(reason, sizeof(reason), "not %s but ", class_name);
  if (class != expected) {
    bad(reason, message);
    return;
  }
  if (expected == MPI_SUCCESS) return;
  if (length != (int)strlen(message)) bad("resultlen is wrong: ", message);
  const char *story = strstr(message, "; last raised by ");
  size_t call = strlen(row_call);
  if (!story || strncmp(story + 17, row_call, call) || strchr(" ,_", story[17 + call]) == NULL)
    bad("the message does not name the call: ", message);
  else if (!strstr(story, row_words))
    bad("other words: ", message);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &raw);
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  memset(long_text, 'x', sizeof(long_text) - 1);

  point_to_point();
  requests();
  collectives();
  communicators();
  groups();
  topologies();
  datatypes();
  environment();
  handles();

  MPI_Type_free(&raw);
  MPI_Type_free(&vector);
  MPI_Finalize();
  return 0;
}
