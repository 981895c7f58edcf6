// How ranks pass time and wait, so that they come in any order.
#ifndef SWEEP_WAITING_H
#define SWEEP_WAITING_H
#include "random.h"
#include <mpi.h>
#include <sched.h>

// Wastes some time, or lets others run, so that ranks arrive in any order.
inline void dawdle(Random &random) {
  int flag;
  switch (random.below(8)) {
    case 0: MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); break;
    case 1: sched_yield(); break;
    case 2:
    case 3: {
      volatile int64_t work = random.below(random.one_in(10) ? 100000 : 2000);
      while (work > 0) work = work - 1;
      break;
    }
    default: break;
  }
}

// Waits for one request in one of several ways.
inline int complete(Random &random, MPI_Request *request) {
  int flag = 0, index, code = MPI_SUCCESS, tries = 0;
  switch (random.below(6)) {
    case 0:
      while (!flag && code == MPI_SUCCESS && tries++ < 50) code = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      return flag || code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1: return MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    case 2: return MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
    default: return MPI_Wait(request, MPI_STATUS_IGNORE);
  }
}
#endif
