// The network's floors, without MPI: a ping-pong and streams over one TCP connection. `net_floor serve` on one host,
// `net_floor ADDRESS latency` or `net_floor ADDRESS stream BYTES…` on another. FLOOR_CONGESTION names the kernel's way to avoid
// congestion that is taken instead of the system's own.
#include "sample.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7878, BATCHES = 7, EXCHANGES = 4000, LARGEST = 4 << 20 };
static char buffer[LARGEST];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

// Who waits for an answer looks for it without end: sleeping would cost a wake-up more.
static int polls;

static void whole(int fd, long bytes, int writes) {
  for (long done = 0; done < bytes;) {
    long length = writes ? write(fd, buffer + done, bytes - done) : recv(fd, buffer + done, bytes - done, polls ? MSG_DONTWAIT : 0);
    if (length < 0 && errno == EAGAIN) continue;
    if (length <= 0) exit(length < 0);
    done += length;
  }
}

// Makes a socket; those that are accepted from it avoid congestion alike.
static int stream_socket(void) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  const char *way = getenv("FLOOR_CONGESTION");
  if (way && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, way, strlen(way))) exit(3);
  return fd;
}

// Each request says how many messages of how many bytes come, and how many of them are answered.
struct request { long messages, bytes, answers; };

static void serve(void) {
  int listener = stream_socket(), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (void *)&address, sizeof address) || listen(listener, 4)) exit(1);
  puts("ready");
  fflush(stdout);
  int fd = accept(listener, 0, 0);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  for (struct request request;;) {
    for (long done = 0; done < (long)sizeof request;) {
      long length = read(fd, (char *)&request + done, sizeof request - done);
      if (length <= 0) exit(0);
      done += length;
    }
    polls = request.answers > 1;
    for (long i = 0; i < request.messages; i++) {
      whole(fd, request.bytes, 0);
      if (request.answers > 1) whole(fd, request.bytes, 1);
    }
    if (request.answers == 1) whole(fd, 1, 1);
    polls = 0;
  }
}

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "serve")) serve();
  if (argc < 3) return 2;
  int fd = stream_socket(), one = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
  inet_pton(AF_INET, argv[1], &address.sin_addr);
  if (connect(fd, (void *)&address, sizeof address)) return 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  for (int batch = 0; batch < BATCHES && !strcmp(argv[2], "latency"); batch++) {
    struct request request = {EXCHANGES, 8, EXCHANGES};
    if (write(fd, &request, sizeof request) < 0) return 1;
    double start = now();
    polls = 1;
    for (int i = 0; i < EXCHANGES; i++) whole(fd, 8, 1), whole(fd, 8, 0);
    polls = 0;
    if (batch) sample("latency", 8, (now() - start) * 1e9 / (2.0 * EXCHANGES));
  }
  for (int i = 3; i < argc; i++) {
    long bytes = atol(argv[i]), messages = (64 << 20) / bytes;
    for (int batch = 0; batch < BATCHES; batch++) {
      struct request request = {messages, bytes, 1};
      if (write(fd, &request, sizeof request) < 0) return 1;
      double start = now();
      for (long j = 0; j < messages; j++) whole(fd, bytes, 1);
      whole(fd, 1, 0);
      if (batch) sample("stream", bytes, (now() - start) * 1e9 / messages);
    }
  }
  return 0;
}
