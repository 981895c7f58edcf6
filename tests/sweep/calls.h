// The MPI calls of a case, in each of its forms.
#ifndef SWEEP_CALLS_H
#define SWEEP_CALLS_H
#include "case.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define SWEEP_PERSISTENT 1
#else
#define SWEEP_PERSISTENT 0
#endif
#if MPI_VERSION >= 4
#define SWEEP_LARGE 1
#else
#define SWEEP_LARGE 0
#endif

// Arrays of a case as a form wants them.
template <class C, class D> struct Arrays {
  std::vector<C> scounts, rcounts;
  std::vector<D> sdispls, rdispls;

  void take(const Case &it) {
    scounts.assign(it.send.counts.begin(), it.send.counts.end());
    rcounts.assign(it.receive.counts.begin(), it.receive.counts.end());
    sdispls.assign(it.send.displacements.begin(), it.send.displacements.end());
    rdispls.assign(it.receive.displacements.begin(), it.receive.displacements.end());
  }
};

// A case's arguments, which must live until its last completion.
class Call {
 public:
  explicit Call(Case &it) : it_(it) {
    small_.take(it);
    large_.take(it);
    for (Side *side : {&it.send, &it.receive}) {
      auto &aint = side == &it.send ? aint_sdispls_ : aint_rdispls_;
      aint.assign(side->displacements.begin(), side->displacements.end());
    }
  }

  // Calls the case's procedure: does the operation, starts it, or prepares it.
  int run() {
    MPI_Comm comm = it_.comm->comm;
    const Side &s = it_.send, &r = it_.receive;
    bool from_receive = it_.in_place && it_.operation != Operation::SCATTER && it_.operation != Operation::SCATTERV;
    const void *sendbuf = from_receive ? MPI_IN_PLACE : s.buffer;
    void *recvbuf = it_.in_place && !from_receive ? MPI_IN_PLACE : (void *)r.buffer;
    const Side &cast = s.used ? s : r;
    int root = it_.rooted() ? it_.root_argument() : 0;
    MPI_Op op = it_.op;
    // What all ranks say of a reduction, even those that receive or send nothing.
    const Side &like = s.used ? s : r;
    MPI_Request *request = &it_.request;
    MPI_Info info = MPI_INFO_NULL;
    (void)info;
#if SWEEP_PERSISTENT
#define PERSISTENT_FORM(NAME, SUFFIX, ...) MPI_##NAME##_init##SUFFIX(__VA_ARGS__, comm, info, request)
#else
#define PERSISTENT_FORM(NAME, SUFFIX, ...) MPI_ERR_OTHER
#endif
#define FORMS(NAME, I, SUFFIX, ...)                                                                    \
  (it_.form == BLOCKING      ? MPI_##NAME##SUFFIX(__VA_ARGS__, comm)                                   \
   : it_.form == NONBLOCKING ? MPI_##I##SUFFIX(__VA_ARGS__, comm, request)                             \
                             : PERSISTENT_FORM(NAME, SUFFIX, __VA_ARGS__))
#if SWEEP_LARGE
#define BOTH(NAME, I, ARGUMENTS)                                                                       \
  return it_.large ? FORMS(NAME, I, _c, ARGUMENTS(large_, (MPI_Count))) : FORMS(NAME, I, , ARGUMENTS(small_, (int)))
#else
#define BOTH(NAME, I, ARGUMENTS) return FORMS(NAME, I, , ARGUMENTS(small_, (int)))
#endif
#define PLAIN(A, T) sendbuf, T s.count, s.type, recvbuf, T r.count, r.type
#define GATHER_V(A, T) sendbuf, T s.count, s.type, recvbuf, A.rcounts.data(), A.rdispls.data(), r.type
#define SCATTER_V(A, T) sendbuf, A.scounts.data(), A.sdispls.data(), s.type, recvbuf, T r.count, r.type
#define ALL_V(A, T)                                                                                    \
  sendbuf, A.scounts.data(), A.sdispls.data(), s.type, recvbuf, A.rcounts.data(), A.rdispls.data(), r.type
#define ALL_W(A, T)                                                                                    \
  sendbuf, A.scounts.data(), A.sdispls.data(), s.types.data(), recvbuf, A.rcounts.data(), A.rdispls.data(), r.types.data()
#define ALL_W_AINT(A, T)                                                                               \
  sendbuf, A.scounts.data(), aint_sdispls_.data(), s.types.data(), recvbuf, A.rcounts.data(), aint_rdispls_.data(), r.types.data()
#define CAST(A, T) (void *)cast.buffer, T cast.count, cast.type, root
#define PLAIN_ROOT(A, T) PLAIN(A, T), root
#define GATHER_V_ROOT(A, T) GATHER_V(A, T), root
#define SCATTER_V_ROOT(A, T) SCATTER_V(A, T), root
#define REDUCTION(A, T) sendbuf, recvbuf, T like.count, like.type, op
#define REDUCTION_ROOT(A, T) REDUCTION(A, T), root
#define PART(A, T) sendbuf, recvbuf, T r.count, r.type, op
#define PARTS(A, T) sendbuf, recvbuf, A.rcounts.data(), r.type, op
    switch (it_.operation) {
      case Operation::BARRIER:
#if SWEEP_PERSISTENT
        if (it_.form == PERSISTENT) return MPI_Barrier_init(comm, info, request);
#endif
        return it_.form == BLOCKING ? MPI_Barrier(comm) : MPI_Ibarrier(comm, request);
      case Operation::BCAST: BOTH(Bcast, Ibcast, CAST);
      case Operation::GATHER: BOTH(Gather, Igather, PLAIN_ROOT);
      case Operation::GATHERV: BOTH(Gatherv, Igatherv, GATHER_V_ROOT);
      case Operation::SCATTER: BOTH(Scatter, Iscatter, PLAIN_ROOT);
      case Operation::SCATTERV: BOTH(Scatterv, Iscatterv, SCATTER_V_ROOT);
      case Operation::ALLGATHER: BOTH(Allgather, Iallgather, PLAIN);
      case Operation::ALLGATHERV: BOTH(Allgatherv, Iallgatherv, GATHER_V);
      case Operation::ALLTOALL: BOTH(Alltoall, Ialltoall, PLAIN);
      case Operation::ALLTOALLV: BOTH(Alltoallv, Ialltoallv, ALL_V);
      case Operation::ALLTOALLW: BOTH(Alltoallw, Ialltoallw, ALL_W);
      case Operation::REDUCE: BOTH(Reduce, Ireduce, REDUCTION_ROOT);
      case Operation::ALLREDUCE: BOTH(Allreduce, Iallreduce, REDUCTION);
      case Operation::REDUCE_SCATTER: BOTH(Reduce_scatter, Ireduce_scatter, PARTS);
      case Operation::REDUCE_SCATTER_BLOCK: BOTH(Reduce_scatter_block, Ireduce_scatter_block, PART);
      case Operation::SCAN: BOTH(Scan, Iscan, REDUCTION);
      case Operation::EXSCAN: BOTH(Exscan, Iexscan, REDUCTION);
      case Operation::NEIGHBOR_ALLGATHER: BOTH(Neighbor_allgather, Ineighbor_allgather, PLAIN);
      case Operation::NEIGHBOR_ALLGATHERV: BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, GATHER_V);
      case Operation::NEIGHBOR_ALLTOALL: BOTH(Neighbor_alltoall, Ineighbor_alltoall, PLAIN);
      case Operation::NEIGHBOR_ALLTOALLV: BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, ALL_V);
      case Operation::NEIGHBOR_ALLTOALLW: BOTH(Neighbor_alltoallw, Ineighbor_alltoallw, ALL_W_AINT);
      case Operation::COUNT: break;
    }
    return MPI_ERR_OTHER;
  }

 private:
  Case &it_;
  Arrays<int, int> small_;
#if SWEEP_LARGE
  Arrays<MPI_Count, MPI_Aint> large_;
#else
  Arrays<int, int> large_;
#endif
  std::vector<MPI_Aint> aint_sdispls_, aint_rdispls_;
};
#endif
