// Two ranks with a socket between them join; the socket is as it was afterwards. A descriptor that is no socket.
// weft-test: auto=processes ranks=1,2,3
#include "family.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm inter = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_join(0, &inter), MPI_ERR_ARG);
  int listener = -1, fd = -1, port = 0;
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  char first[MPI_MAX_PROCESSOR_NAME] = "", mine_too[MPI_MAX_PROCESSOR_NAME] = "";
  MPI_Get_processor_name(first, &(int){0});
  memcpy(mine_too, first, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    port = address.sin_port;
  }
  MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
  address.sin_port = port;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (strcmp(first, mine_too) != 0) {
    struct hostent *host = gethostbyname(first);
    CHECK(host && host->h_addrtype == AF_INET);
    memcpy(&address.sin_addr, host->h_addr_list[0], sizeof address.sin_addr);
  }
  if (size > 1 && rank < 2) {
    if (rank == 1) {
      fd = socket(AF_INET, SOCK_STREAM, 0);
      CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
    } else {
      fd = accept(listener, NULL, NULL);
    }
    CHECK(fd >= 0);
    CHECK_OK(MPI_Comm_join(fd, &inter));
    int mine, others;
    MPI_Comm_size(inter, &mine);
    MPI_Comm_remote_size(inter, &others);
    CHECK_EQUAL(mine, 1);
    CHECK_EQUAL(others, 1);
    family_life(inter, rank);
    char letter = 'a' + rank, other = 0;
    CHECK(write(fd, &letter, 1) == 1 && read(fd, &other, 1) == 1);
    CHECK_EQUAL(other, 'a' + 1 - rank);
    CHECK_OK(MPI_Comm_disconnect(&inter));
    close(fd);
  }
  if (listener >= 0) close(listener);
  return check_end();
}
