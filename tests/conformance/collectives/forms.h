// Turns the blocking collective calls of a program that includes this first into nonblocking ones, completed in turn by
// each of the calls that complete requests; with FORM_PERSISTENT into persistent ones, prepared, started once and freed.
#ifndef WEFT_FORMS_H
#define WEFT_FORMS_H
#include "check.h"

static _Thread_local MPI_Request form_request;
static _Thread_local int form_turn;

// Completes the request; returns how its operation ended. Polls for a while only: on a busy machine, workers that poll
// keep each other from their cores.
static inline int form_complete(MPI_Request *request) {
  enum { POLLS = 40 };
  MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
  int flag = 0, index = -1, count = 0, code = MPI_SUCCESS, class, way = form_turn++ % 8;
  for (int i = 0; i < POLLS && !flag && !code; i++) {
    if (way == 1) code = MPI_Test(request, &flag, &status);
    if (way == 3) code = MPI_Testany(1, request, &index, &flag, &status);
    if (way == 5) code = MPI_Testall(1, request, &flag, &status);
    if (way == 7) code = MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
  }
  if (way == 3 && flag) CHECK_EQUAL(index, 0);
  if (way == 7 || (way % 2 && !flag && !code)) return MPI_Wait(request, MPI_STATUS_IGNORE);
  switch (way) {
    case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 2: code = MPI_Waitany(1, request, &index, &status); CHECK_EQUAL(index, 0); return code;
    case 4: code = MPI_Waitall(1, request, &status); break;
    case 6: code = MPI_Waitsome(1, request, &count, &index, &status); CHECK_EQUAL(count, 1); break;
  }
  MPI_Error_class(code, &class);
  return class == MPI_ERR_IN_STATUS ? status.MPI_ERROR : code;
}

#ifndef FORM_PERSISTENT
static inline int form_run(int code) {
  if (code != MPI_SUCCESS) return code;
  code = form_complete(&form_request);
  CHECK(form_request == MPI_REQUEST_NULL);
  return code;
}

#define MPI_Barrier(...) form_run(MPI_Ibarrier(__VA_ARGS__, &form_request))
#define MPI_Bcast(...) form_run(MPI_Ibcast(__VA_ARGS__, &form_request))
#define MPI_Bcast_c(...) form_run(MPI_Ibcast_c(__VA_ARGS__, &form_request))
#define MPI_Gather(...) form_run(MPI_Igather(__VA_ARGS__, &form_request))
#define MPI_Gather_c(...) form_run(MPI_Igather_c(__VA_ARGS__, &form_request))
#define MPI_Gatherv(...) form_run(MPI_Igatherv(__VA_ARGS__, &form_request))
#define MPI_Gatherv_c(...) form_run(MPI_Igatherv_c(__VA_ARGS__, &form_request))
#define MPI_Scatter(...) form_run(MPI_Iscatter(__VA_ARGS__, &form_request))
#define MPI_Scatter_c(...) form_run(MPI_Iscatter_c(__VA_ARGS__, &form_request))
#define MPI_Scatterv(...) form_run(MPI_Iscatterv(__VA_ARGS__, &form_request))
#define MPI_Scatterv_c(...) form_run(MPI_Iscatterv_c(__VA_ARGS__, &form_request))
#define MPI_Allgather(...) form_run(MPI_Iallgather(__VA_ARGS__, &form_request))
#define MPI_Allgather_c(...) form_run(MPI_Iallgather_c(__VA_ARGS__, &form_request))
#define MPI_Allgatherv(...) form_run(MPI_Iallgatherv(__VA_ARGS__, &form_request))
#define MPI_Allgatherv_c(...) form_run(MPI_Iallgatherv_c(__VA_ARGS__, &form_request))
#define MPI_Alltoall(...) form_run(MPI_Ialltoall(__VA_ARGS__, &form_request))
#define MPI_Alltoall_c(...) form_run(MPI_Ialltoall_c(__VA_ARGS__, &form_request))
#define MPI_Alltoallv(...) form_run(MPI_Ialltoallv(__VA_ARGS__, &form_request))
#define MPI_Alltoallv_c(...) form_run(MPI_Ialltoallv_c(__VA_ARGS__, &form_request))
#define MPI_Alltoallw(...) form_run(MPI_Ialltoallw(__VA_ARGS__, &form_request))
#define MPI_Alltoallw_c(...) form_run(MPI_Ialltoallw_c(__VA_ARGS__, &form_request))
#define MPI_Reduce(...) form_run(MPI_Ireduce(__VA_ARGS__, &form_request))
#define MPI_Reduce_c(...) form_run(MPI_Ireduce_c(__VA_ARGS__, &form_request))
#define MPI_Allreduce(...) form_run(MPI_Iallreduce(__VA_ARGS__, &form_request))
#define MPI_Allreduce_c(...) form_run(MPI_Iallreduce_c(__VA_ARGS__, &form_request))
#define MPI_Reduce_scatter_block(...) form_run(MPI_Ireduce_scatter_block(__VA_ARGS__, &form_request))
#define MPI_Reduce_scatter_block_c(...) form_run(MPI_Ireduce_scatter_block_c(__VA_ARGS__, &form_request))
#define MPI_Reduce_scatter(...) form_run(MPI_Ireduce_scatter(__VA_ARGS__, &form_request))
#define MPI_Reduce_scatter_c(...) form_run(MPI_Ireduce_scatter_c(__VA_ARGS__, &form_request))
#define MPI_Scan(...) form_run(MPI_Iscan(__VA_ARGS__, &form_request))
#define MPI_Scan_c(...) form_run(MPI_Iscan_c(__VA_ARGS__, &form_request))
#define MPI_Exscan(...) form_run(MPI_Iexscan(__VA_ARGS__, &form_request))
#define MPI_Exscan_c(...) form_run(MPI_Iexscan_c(__VA_ARGS__, &form_request))
#define MPI_Neighbor_allgather(...) form_run(MPI_Ineighbor_allgather(__VA_ARGS__, &form_request))
#define MPI_Neighbor_allgather_c(...) form_run(MPI_Ineighbor_allgather_c(__VA_ARGS__, &form_request))
#define MPI_Neighbor_allgatherv(...) form_run(MPI_Ineighbor_allgatherv(__VA_ARGS__, &form_request))
#define MPI_Neighbor_allgatherv_c(...) form_run(MPI_Ineighbor_allgatherv_c(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoall(...) form_run(MPI_Ineighbor_alltoall(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoall_c(...) form_run(MPI_Ineighbor_alltoall_c(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoallv(...) form_run(MPI_Ineighbor_alltoallv(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoallv_c(...) form_run(MPI_Ineighbor_alltoallv_c(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoallw(...) form_run(MPI_Ineighbor_alltoallw(__VA_ARGS__, &form_request))
#define MPI_Neighbor_alltoallw_c(...) form_run(MPI_Ineighbor_alltoallw_c(__VA_ARGS__, &form_request))
#else
static inline int form_run(int code) {
  if (code != MPI_SUCCESS) return code;
  MPI_Request request = form_request;
  CHECK_OK(MPI_Start(&form_request));
  code = form_complete(&form_request);
  CHECK(form_request == request);
  CHECK_OK(MPI_Request_free(&form_request));
  return code;
}

#define MPI_Barrier(...) form_run(MPI_Barrier_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Bcast(...) form_run(MPI_Bcast_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Bcast_c(...) form_run(MPI_Bcast_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Gather(...) form_run(MPI_Gather_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Gather_c(...) form_run(MPI_Gather_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Gatherv(...) form_run(MPI_Gatherv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Gatherv_c(...) form_run(MPI_Gatherv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scatter(...) form_run(MPI_Scatter_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scatter_c(...) form_run(MPI_Scatter_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scatterv(...) form_run(MPI_Scatterv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scatterv_c(...) form_run(MPI_Scatterv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allgather(...) form_run(MPI_Allgather_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allgather_c(...) form_run(MPI_Allgather_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allgatherv(...) form_run(MPI_Allgatherv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allgatherv_c(...) form_run(MPI_Allgatherv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoall(...) form_run(MPI_Alltoall_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoall_c(...) form_run(MPI_Alltoall_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoallv(...) form_run(MPI_Alltoallv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoallv_c(...) form_run(MPI_Alltoallv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoallw(...) form_run(MPI_Alltoallw_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Alltoallw_c(...) form_run(MPI_Alltoallw_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce(...) form_run(MPI_Reduce_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce_c(...) form_run(MPI_Reduce_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allreduce(...) form_run(MPI_Allreduce_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Allreduce_c(...) form_run(MPI_Allreduce_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce_scatter_block(...) form_run(MPI_Reduce_scatter_block_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce_scatter_block_c(...) form_run(MPI_Reduce_scatter_block_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce_scatter(...) form_run(MPI_Reduce_scatter_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Reduce_scatter_c(...) form_run(MPI_Reduce_scatter_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scan(...) form_run(MPI_Scan_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Scan_c(...) form_run(MPI_Scan_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Exscan(...) form_run(MPI_Exscan_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Exscan_c(...) form_run(MPI_Exscan_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_allgather(...) form_run(MPI_Neighbor_allgather_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_allgather_c(...) form_run(MPI_Neighbor_allgather_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_allgatherv(...) form_run(MPI_Neighbor_allgatherv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_allgatherv_c(...) form_run(MPI_Neighbor_allgatherv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoall(...) form_run(MPI_Neighbor_alltoall_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoall_c(...) form_run(MPI_Neighbor_alltoall_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoallv(...) form_run(MPI_Neighbor_alltoallv_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoallv_c(...) form_run(MPI_Neighbor_alltoallv_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoallw(...) form_run(MPI_Neighbor_alltoallw_init(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#define MPI_Neighbor_alltoallw_c(...) form_run(MPI_Neighbor_alltoallw_init_c(__VA_ARGS__, MPI_INFO_NULL, &form_request))
#endif
#endif
