// Who connects to a port at which nobody accepts, or accepts where nobody connects, waits for a limited time; then all ranks
// have MPI_ERR_PORT, and the port works as before: who accepts later passes over those who have given up.
// weft-test: ranks=1,2,3
#include "family.h"

static MPI_Info within(const char *seconds) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "timeout", seconds));
  return info;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size, length;
  char port[MPI_MAX_PORT_NAME] = "", text[MPI_MAX_ERROR_STRING];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm none = MPI_COMM_WORLD, half, inter;
  MPI_Info soon = within("0.01"), late = within("100000"), never = within("0");
  if (rank == 0) CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD));

  // All ranks take part; only the root's info counts.
  for (int round = 0; round < 3; round++) {
    int root = round % size;
    CHECK_CLASS(MPI_Comm_connect(port, rank == root ? soon : MPI_INFO_NULL, root, MPI_COMM_WORLD, &none), MPI_ERR_PORT);
    CHECK(none == MPI_COMM_NULL);
    CHECK_OK(MPI_Error_string(MPI_ERR_PORT, text, &length));
    CHECK(strstr(text, "nobody has accepted within 0.01 s"));
    CHECK_CLASS(MPI_Comm_accept(port, rank == 0 ? soon : MPI_INFO_NULL, 0, MPI_COMM_WORLD, &none), MPI_ERR_PORT);
    CHECK(none == MPI_COMM_NULL);
    CHECK_OK(MPI_Error_string(MPI_ERR_PORT, text, &length));
    CHECK(strstr(text, "nobody has connected within 0.01 s"));
  }
  const char *wrong[] = {"soon", "-1", "", "nan", "1e300"};
  for (int i = 0; i < 5; i++) {
    MPI_Info info = within(wrong[i]);
    CHECK_CLASS(MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, &none), MPI_ERR_INFO_VALUE);
    CHECK_CLASS(MPI_Comm_accept(port, info, 0, MPI_COMM_WORLD, &none), MPI_ERR_INFO_VALUE);
    CHECK_OK(MPI_Info_free(&info));
  }

  // Those who had given up are not taken for those who come now.
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half));
  for (int round = 0; size > 1 && round < 4; round++) {
    if (rank == 0) CHECK_OK(MPI_Comm_accept(port, round & 1 ? late : never, 0, half, &inter));
    else CHECK_OK(MPI_Comm_connect(port, round & 2 ? late : never, 0, half, &inter));
    family_life(inter, rank == 0);
    CHECK_OK(MPI_Comm_disconnect(&inter));
  }
  CHECK_OK(MPI_Comm_free(&half));
  if (rank == 0) CHECK_OK(MPI_Close_port(port));
  CHECK_OK(MPI_Info_free(&soon));
  CHECK_OK(MPI_Info_free(&late));
  CHECK_OK(MPI_Info_free(&never));
  return check_end();
}
