// Control variables: each has a name that finds it, a datatype, words for its values if it is a choice, and a scope that says
// whether it can be written.
// weft-test: faults=yes
#include "check.h"
#include <stdint.h>

static int size_of(MPI_Datatype type) {
  return type == MPI_INT ? sizeof(int) : type == MPI_UINT64_T ? sizeof(uint64_t) : type == MPI_CHAR ? 1 : -1;
}

static void strings(int index, const char *name, int length) {
  char small[4] = "xyz";
  int room = 0, untouched = 7;
  CHECK_OK(MPI_T_cvar_get_info(index, NULL, &untouched, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK_EQUAL(untouched, length);
  CHECK_OK(MPI_T_cvar_get_info(index, small, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK_EQUAL(room, length);
  CHECK(!strcmp(small, "xyz"));
  CHECK_OK(MPI_T_cvar_get_info(index, small, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(!strcmp(small, "xyz"));
  room = 3;
  CHECK_OK(MPI_T_cvar_get_info(index, small, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(strlen(small) == 2 && !strncmp(small, name, 2));
  CHECK_EQUAL(room, length);
  room = -1;
  CHECK_CLASS(MPI_T_cvar_get_info(index, small, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID);
}

static void enumeration(MPI_T_enum kind, int present) {
  int count = 0, length = 100, value, is_known = 0;
  char name[100], other[100];
  CHECK_OK(MPI_T_enum_get_info(kind, &count, name, &length));
  CHECK(count > 0 && length == (int)strlen(name) + 1 && length > 1);
  for (int i = 0; i < count; i++) {
    length = 100;
    CHECK_OK(MPI_T_enum_get_item(kind, i, &value, name, &length));
    CHECK(length == (int)strlen(name) + 1 && length > 1);
    is_known |= value == present;
    for (int j = 0; j < i; j++) {
      length = 100;
      CHECK_OK(MPI_T_enum_get_item(kind, j, NULL, other, &length));
      CHECK(strcmp(name, other));
    }
  }
  CHECK(is_known);
  CHECK_CLASS(MPI_T_enum_get_item(kind, count, &value, name, &length), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_enum_get_item(kind, -1, &value, name, &length), MPI_T_ERR_INVALID_INDEX);
}

static int variable(int index) {
  char name[200], description[1000], buffer[5000];
  int length = 200, description_length = 1000, verbosity = -1, bind = -1, scope = -1, found = -1, count = -1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum kind = (MPI_T_enum)77;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL, former;
  CHECK_OK(MPI_T_cvar_get_info(index, name, &length, &verbosity, &type, &kind, description, &description_length, &bind, &scope));
  CHECK(length == (int)strlen(name) + 1 && description_length == (int)strlen(description) + 1 && length > 1);
  CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
  CHECK(size_of(type) > 0);
  CHECK_EQUAL(bind, MPI_T_BIND_NO_OBJECT);
  CHECK(scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_GROUP_EQ);
  CHECK((type == MPI_INT) == (kind != MPI_T_ENUM_NULL));
  CHECK_OK(MPI_T_cvar_get_index(name, &found));
  CHECK_EQUAL(found, index);
  strings(index, name, length);
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(handle != MPI_T_CVAR_HANDLE_NULL && count > 0 && count * size_of(type) <= (int)sizeof buffer);
  memset(buffer, 0x55, sizeof buffer);
  CHECK_OK(MPI_T_cvar_read(handle, buffer));
  CHECK_EQUAL(buffer[count * size_of(type)], 0x55);
  if (type == MPI_CHAR) CHECK((int)strlen(buffer) < count);
  if (kind != MPI_T_ENUM_NULL) enumeration(kind, *(int *)buffer);
  CHECK_CLASS(MPI_T_cvar_write(handle, buffer), scope == MPI_T_SCOPE_CONSTANT ? MPI_T_ERR_CVAR_SET_NEVER : MPI_SUCCESS);
  CHECK_CLASS(MPI_T_cvar_read(handle, NULL), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_cvar_write(handle, NULL), MPI_T_ERR_INVALID);
  former = handle;
  CHECK_OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  CHECK_CLASS(MPI_T_cvar_handle_free(&handle), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_cvar_read(former, buffer), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_cvar_write(former, buffer), MPI_T_ERR_INVALID_HANDLE);
  return scope != MPI_T_SCOPE_CONSTANT;
}

// The ranks of a process share it, and are to write the same.
static void write(void) {
  int index = -1, count;
  uint64_t former = 0, wanted = 17, found = 0, wrong = UINT64_MAX;
  MPI_T_cvar_handle handle, other;
  CHECK_OK(MPI_T_cvar_get_index("spin-us", &index));
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK_OK(MPI_T_cvar_handle_alloc(index, NULL, &other, &count));
  CHECK_OK(MPI_T_cvar_read(handle, &former));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_T_cvar_write(handle, &wanted));
  CHECK_CLASS(MPI_T_cvar_write(handle, &wrong), MPI_T_ERR_INVALID);
  CHECK_OK(MPI_T_cvar_read(other, &found));
  CHECK_EQUAL(found, 17);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_T_cvar_write(other, &former));
  CHECK_OK(MPI_T_cvar_handle_free(&handle));
  CHECK_OK(MPI_T_cvar_read(other, &found));
  CHECK_EQUAL(found, former);
  CHECK_OK(MPI_T_cvar_handle_free(&other));
}

int main(int argc, char **argv) {
  int provided, count, index = -5, writable = 0;
  MPI_T_cvar_handle handle;
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_OK(MPI_T_cvar_get_num(&count));
  CHECK(count > 0);
  check_init(&argc, &argv);
  for (int i = 0; i < count; i++) writable += variable(i);
  CHECK(writable > 0);
  CHECK_CLASS(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
  CHECK_CLASS(MPI_T_cvar_get_index(NULL, &index), MPI_T_ERR_INVALID);
  CHECK_EQUAL(index, -5);
  CHECK_CLASS(MPI_T_cvar_handle_alloc(count, NULL, &handle, &index), MPI_T_ERR_INVALID_INDEX);
  CHECK_CLASS(MPI_T_cvar_handle_alloc(0, NULL, NULL, &index), MPI_T_ERR_INVALID);
  CHECK_CLASS(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &index, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
  CHECK_CLASS(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &index, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
  write();
  // What is left goes with the interface.
  CHECK_OK(MPI_T_cvar_handle_alloc(0, NULL, &handle, &index));
  CHECK_OK(MPI_T_finalize());
  CHECK_OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  CHECK_CLASS(MPI_T_cvar_read(handle, &count), MPI_T_ERR_INVALID_HANDLE);
  CHECK_OK(MPI_T_finalize());
  return check_end();
}
