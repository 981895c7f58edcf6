// Values of info objects by the old calls, which count characters without the end. weft-test: ranks=1 part=one-worker
#include "check.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = -1, length = -1;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "colour", "dark green"));
  CHECK_OK(MPI_Info_get_valuelen(info, "colour", &length, &flag));
  CHECK(flag);
  CHECK_EQUAL(length, 10);
  CHECK_OK(MPI_Info_get(info, "colour", MPI_MAX_INFO_VAL, value, &flag));
  CHECK(flag && strcmp(value, "dark green") == 0);
  memset(value, 'x', sizeof value);
  CHECK_OK(MPI_Info_get(info, "colour", 4, value, &flag));
  CHECK(flag && strncmp(value, "dark", 4) == 0 && value[4] == '\0' && value[5] == 'x');
  CHECK_OK(MPI_Info_get(info, "size", 4, value, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Info_get_valuelen(info, "size", &length, &flag));
  CHECK(!flag);
  CHECK_OK(MPI_Info_free(&info));
  return check_end();
}
