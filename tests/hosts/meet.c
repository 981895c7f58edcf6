// Two jobs that find each other by a port's name in a file: accept FILE WHAT, or connect FILE WHAT. What they do then: "life",
// all that communicators between jobs are for, in several rounds; "join", the same over a socket; "fails", the one that
// connects is killed when both are ready, and the other is told.
#include "family.h"
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

// Tells what another job has written to a file, as soon as it is there.
static void read_when_there(const char *file, char *text, int size) {
  FILE *from;
  while (!(from = fopen(file, "r"))) sched_yield();
  CHECK(fgets(text, size, from) != NULL);
  fclose(from);
  CHECK(unlink(file) == 0);
}

static void write_whole(const char *file, const char *text) {
  char other[4096];
  snprintf(other, sizeof other, "%s.part", file);
  FILE *to = fopen(other, "w");
  CHECK(to && fputs(text, to) >= 0 && fclose(to) == 0);
  CHECK(rename(other, file) == 0);
}

static MPI_Comm meet(int accepts, const char *file, int root) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter = MPI_COMM_NULL;
  if (accepts) {
    if (check_rank == root) {
      CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
      write_whole(file, port);
    }
    CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter));
    if (check_rank == root) CHECK_OK(MPI_Close_port(port));
  } else {
    if (check_rank == root) read_when_there(file, port, sizeof port);
    CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter));
  }
  // What follows is for who has met somebody.
  if (inter == MPI_COMM_NULL) exit(check_end());
  return inter;
}

// A socket between the two ranks 0.
static int connection(int accepts, const char *file) {
  char text[300];
  if (accepts) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    char host[200];
    gethostname(host, sizeof host);
    snprintf(text, sizeof text, "%s %d", host, ntohs(address.sin_port));
    write_whole(file, text);
    int fd = accept(listener, NULL, NULL);
    close(listener);
    return fd;
  }
  read_when_there(file, text, sizeof text);
  char *number = strchr(text, ' ');
  *number++ = 0;
  struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  CHECK(getaddrinfo(text, number, &wanted, &found) == 0);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(fd, found->ai_addr, found->ai_addrlen) == 0);
  freeaddrinfo(found);
  return fd;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int accepts = strcmp(argv[1], "accept") == 0, size, code;
  const char *file = argv[2], *what = argv[3];
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "life") == 0) {
    for (int round = 0; round < 3; round++) {
      MPI_Comm inter = meet(accepts, file, round % size);
      family_life(inter, accepts);
      CHECK_OK(MPI_Comm_disconnect(&inter));
    }
  } else if (strcmp(what, "join") == 0) {
    if (check_rank == 0) {
      MPI_Comm inter;
      int fd = connection(accepts, file);
      CHECK_OK(MPI_Comm_join(fd, &inter));
      family_life(inter, accepts);
      CHECK_OK(MPI_Comm_disconnect(&inter));
      close(fd);
    }
  } else {
    MPI_Comm inter = meet(accepts, file, 0);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_OK(MPI_Barrier(inter));
    if (check_rank == 0) printf("ready\n"), fflush(stdout);
    int number;
    code = MPI_Recv(&number, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &class);
    if (check_rank == 0) printf("class %s\n%s\n", class == MPI_ERR_PROC_ABORTED ? "aborted" : "other", text), fflush(stdout);
    MPI_Comm_disconnect(&inter);
  }
  return check_end();
}
