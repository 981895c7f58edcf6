// Integers of handles do not accumulate: objects that come and go, requests above all, use few integers however many
// there are; an integer of a freed object does not find the next one. A place has 64 integers, and rank 0's first
// handle of a place is one itself.
#include "check.h"

enum { TIMES = 20000, OBJECTS = 5, INTEGERS = 65, MOST = INTEGERS * (OBJECTS + 1) };

static int seen[MOST + 1], count, got;

static void note(int number) {
  for (int i = 0; i < count; i++)
    if (seen[i] == number) return;
  if (count <= MOST) seen[count++] = number;
}

int main(int argc, char **argv) {
  check_init(&argc, &argv);
  int last = 0, value = 1;
  for (int time = 0; time < TIMES; time++) {
    MPI_Info info;
    MPI_Info_create(&info);
    int number = MPI_Info_toint(info);
    CHECK(MPI_Info_fromint(number) == info);
    CHECK(time == 0 || number != last);
    CHECK(time == 0 || MPI_Info_fromint(last) != info);
    MPI_Info_free(&info);
    note(last = number);
  }
  CHECK(count <= INTEGERS);
  // Requests: several at once, complete out of order.
  count = 0;
  for (int time = 0; time < TIMES / OBJECTS; time++) {
    MPI_Request requests[OBJECTS];
    int numbers[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) {
      MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_SELF, &requests[i]);
      numbers[i] = MPI_Request_c2f(requests[i]);
    }
    for (int i = OBJECTS; i-- > 0;) {
      MPI_Request request = MPI_Request_f2c(numbers[i]);
      CHECK(request == requests[i]);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request at_once;
    MPI_Isend(&value, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &at_once);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(at_once)) == at_once);
    MPI_Wait(&at_once, MPI_STATUS_IGNORE);
    for (int i = 0; i < OBJECTS; i++) note(numbers[i]);
  }
  CHECK(count <= MOST);
  return check_end();
}
