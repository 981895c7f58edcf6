// Two halves of a job connect at a port, again and again, and in both directions; ports that are none.
#include "family.h"

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char port[MPI_MAX_PORT_NAME] = "", other[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, inter = MPI_COMM_WORLD, none;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);

  CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_OK(MPI_Open_port(MPI_INFO_NULL, other));
  CHECK(strlen(port) > 0 && strcmp(port, other) != 0);
  CHECK_OK(MPI_Close_port(other));
  CHECK_CLASS(MPI_Close_port(other), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_accept(other, MPI_INFO_NULL, 0, half, &none), MPI_ERR_PORT);
  CHECK(none == MPI_COMM_NULL);
  CHECK_CLASS(MPI_Comm_connect("no port at all", MPI_INFO_NULL, 0, half, &none), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_connect("weft:weft-door-nowhere:1", MPI_INFO_NULL, 0, half, &none), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_connect(other, MPI_INFO_NULL, 0, half, &none), MPI_ERR_PORT);
  CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, size, half, &none), MPI_ERR_ROOT);
  CHECK_OK(MPI_Close_port(port));

  for (int round = 0; size > 1 && round < 3; round++) {
    int accepts = (rank + round) % 2, first;
    MPI_Comm_rank(half, &first);
    // The first rank of either half takes turns to be the root.
    int members, root;
    MPI_Comm_size(half, &members);
    root = round % members;
    if (accepts && first == root) CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    // Only the accepting root knows the port.
    int knows = accepts && first == root ? rank : -1, who;
    MPI_Allreduce(&knows, &who, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, who, MPI_COMM_WORLD);
    if (accepts) {
      CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, root, half, &inter));
      if (first == root) CHECK_OK(MPI_Close_port(port));
    } else {
      CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, root, half, &inter));
    }
    family_life(inter, accepts);
    CHECK_OK(MPI_Comm_disconnect(&inter));
    CHECK(inter == MPI_COMM_NULL);
  }
  CHECK_OK(MPI_Comm_free(&half));
  return check_end();
}
