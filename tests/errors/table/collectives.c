// Chapter 6: collective operations.
#include "table.h"

static void one(void *in, void *out, int *n, MPI_Datatype *type) { (void)in, (void)out, (void)n, (void)type; }

void collectives(void) {
  int counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, displs[8] = {0, 1, 2, 3, 4, 5, 6, 7}, negative[8] = {1, 1, 1};
  MPI_Datatype types[8], mixed[8];
  for (int i = 0; i < 8; i++) types[i] = mixed[i] = MPI_INT;
  negative[size - 1] = -6, mixed[size - 1] = raw;
  char last[64], type[64];
  sprintf(last, "recvcounts[%d] is -6", size - 1);
  sprintf(type, "sendtypes[%d] is ", size - 1);

  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
  WRONG("comm is MPI_INFO_NULL, an info object", MPI_ERR_COMM, MPI_Ibarrier((MPI_Comm)MPI_INFO_NULL, &request));
  WRONG("request is a null pointer", MPI_ERR_ARG, MPI_Ibarrier(world, NULL));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Bcast(ints, -1, MPI_INT, 0, world));
  WRONG("buffer is a null pointer", MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, world));
  WRONG("buffer is MPI_IN_PLACE", MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world));
  WRONG("root is -1", MPI_ERR_ROOT, MPI_Bcast(ints, 1, MPI_INT, -1, world));
  WRONG("root is 1000; the communicator has ranks 0 to", MPI_ERR_ROOT, MPI_Bcast(ints, 1, MPI_INT, 1000, world));
  WRONG("root is -4 (MPI_ROOT)", MPI_ERR_ROOT, MPI_Bcast(ints, 1, MPI_INT, MPI_ROOT, world));
  WRONG("root is -3 (MPI_PROC_NULL)", MPI_ERR_ROOT, MPI_Ibcast(ints, 1, MPI_INT, MPI_PROC_NULL, world, &request));
  WRONG("which is not committed", MPI_ERR_TYPE, MPI_Bcast(ints, 1, raw, 0, world));
  WRONG("datatype is MPI_DATATYPE_NULL", MPI_ERR_TYPE, MPI_Bcast(ints, 1, MPI_DATATYPE_NULL, 0, world));
  WRONG("sendcount is -1", MPI_ERR_COUNT, MPI_Gather(ints, -1, MPI_INT, more, 1, MPI_INT, rank, world));
  WRONG("recvcount is -1", MPI_ERR_COUNT, MPI_Gather(ints, 1, MPI_INT, more, -1, MPI_INT, rank, world));
  WRONG("recvtype is MPI_DATATYPE_NULL", MPI_ERR_TYPE,
        MPI_Gather(ints, 1, MPI_INT, more, 1, MPI_DATATYPE_NULL, rank, world));
  WRONG("recvbuf is a null pointer", MPI_ERR_BUFFER, MPI_Gather(ints, 1, MPI_INT, NULL, 1, MPI_INT, rank, world));
  WRONG("recvbuf is MPI_IN_PLACE", MPI_ERR_BUFFER,
        MPI_Gather(ints, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, rank, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER,
        MPI_Allgather(ints + rank, 1, MPI_INT, ints, 1, MPI_INT, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER, MPI_Alltoall(ints, 1, MPI_INT, ints, 1, MPI_INT, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER, MPI_Allreduce(ints, ints, 1, MPI_INT, MPI_SUM, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER, MPI_Scan(ints, ints, 1, MPI_INT, MPI_SUM, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER,
        MPI_Reduce(ints, ints, 1, MPI_INT, MPI_SUM, rank, world));
  WRONG("sendbuf and recvbuf are the same", MPI_ERR_BUFFER,
        MPI_Reduce_scatter_block(ints, ints, 1, MPI_INT, MPI_SUM, world));
  WRONG("sendbuf and recvbuf overlap", MPI_ERR_BUFFER,
        MPI_Allreduce(ints, ints + 1, 4, MPI_INT, MPI_SUM, world));
  WRONG("sendbuf and recvbuf overlap", MPI_ERR_BUFFER,
        MPI_Alltoall(ints + 1, 2, MPI_INT, ints, 2, MPI_INT, world));
  WRONG("sendbuf and recvbuf overlap", MPI_ERR_BUFFER,
        MPI_Reduce_scatter_block(ints, ints + 1, 2, MPI_INT, MPI_SUM, world));
  WRONG("recvcounts is a null pointer", MPI_ERR_ARG,
        MPI_Gatherv(ints, 1, MPI_INT, more, NULL, displs, MPI_INT, rank, world));
  WRONG("displs is a null pointer", MPI_ERR_ARG,
        MPI_Gatherv(ints, 1, MPI_INT, more, counts, NULL, MPI_INT, rank, world));
  WRONG(last, MPI_ERR_COUNT, MPI_Gatherv(ints, 1, MPI_INT, more, negative, displs, MPI_INT, rank, world));
  WRONG(last, MPI_ERR_COUNT, MPI_Allgatherv(ints, 1, MPI_INT, more, negative, displs, MPI_INT, world));
  WRONG(last, MPI_ERR_COUNT, MPI_Reduce_scatter(ints, more, negative, MPI_INT, MPI_SUM, world));
  WRONG(last, MPI_ERR_COUNT,
        MPI_Alltoallv(ints, counts, displs, MPI_INT, more, negative, displs, MPI_INT, world));
  WRONG("sendcounts is a null pointer", MPI_ERR_ARG,
        MPI_Alltoallv(ints, NULL, displs, MPI_INT, more, counts, displs, MPI_INT, world));
  WRONG("rdispls is a null pointer", MPI_ERR_ARG,
        MPI_Alltoallv(ints, counts, displs, MPI_INT, more, counts, NULL, MPI_INT, world));
  WRONG(type, MPI_ERR_TYPE, MPI_Alltoallw(ints, counts, displs, mixed, more, counts, displs, types, world));
  WRONG("recvtypes is a null pointer", MPI_ERR_ARG,
        MPI_Alltoallw(ints, counts, displs, types, more, counts, displs, NULL, world));
  WRONG("sendcount is -3", MPI_ERR_COUNT, MPI_Scatter(ints, -3, MPI_INT, more, 1, MPI_INT, rank, world));
  WRONG("recvcount is -3", MPI_ERR_COUNT, MPI_Scatter(ints, 1, MPI_INT, more, -3, MPI_INT, rank, world));
  WRONG("root is 88", MPI_ERR_ROOT, MPI_Scatter(ints, 1, MPI_INT, more, 1, MPI_INT, 88, world));
  WRONG("sendbuf is MPI_IN_PLACE", MPI_ERR_BUFFER,
        MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, more, 1, MPI_INT, rank, world));
  WRONG("displs is a null pointer", MPI_ERR_ARG,
        MPI_Scatterv(ints, counts, NULL, MPI_INT, more, 1, MPI_INT, rank, world));
  WRONG("recvcount is -1", MPI_ERR_COUNT,
        MPI_Iscatterv(ints, counts, displs, MPI_INT, more, -1, MPI_INT, rank, world, &request));

  WRONG("op is MPI_OP_NULL; pass an operation", MPI_ERR_OP, MPI_Allreduce(ints, more, 1, MPI_INT, MPI_OP_NULL, world));
  WRONG("op is MPI_INT, a datatype", MPI_ERR_OP, MPI_Allreduce(ints, more, 1, MPI_INT, (MPI_Op)MPI_INT, world));
  WRONG("op is MPI_BAND, which is not defined for MPI_DOUBLE", MPI_ERR_OP,
        MPI_Allreduce(ints, more, 1, MPI_DOUBLE, MPI_BAND, world));
  WRONG("op is MPI_SUM, which is not defined for MPI_CHARACTER", MPI_ERR_OP,
        MPI_Allreduce(ints, more, 1, MPI_CHARACTER, MPI_SUM, world));
  WRONG("op is MPI_MAXLOC, which is not defined for MPI_INT", MPI_ERR_OP,
        MPI_Reduce(ints, more, 1, MPI_INT, MPI_MAXLOC, rank, world));
  WRONG("op is MPI_MAX, which is not defined for MPI_C_DOUBLE_COMPLEX", MPI_ERR_OP,
        MPI_Scan(text, long_text, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX, world));
  WRONG("op is MPI_SUM, which is not defined for a derived datatype", MPI_ERR_OP,
        MPI_Iallreduce(ints, more, 1, vector, MPI_SUM, world, &request));
  WRONG("op is MPI_LXOR, which is not defined for MPI_FLOAT", MPI_ERR_OP,
        MPI_Exscan(ints, more, 1, MPI_FLOAT, MPI_LXOR, world));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Allreduce(ints, more, -1, MPI_INT, MPI_SUM, world));
  WRONG("recvbuf is a null pointer", MPI_ERR_BUFFER, MPI_Allreduce(ints, NULL, 1, MPI_INT, MPI_SUM, world));
  WRONG("sendbuf is a null pointer", MPI_ERR_BUFFER, MPI_Allreduce(NULL, ints, 1, MPI_INT, MPI_SUM, world));
  WRONG("recvbuf is MPI_IN_PLACE", MPI_ERR_BUFFER, MPI_Allreduce(ints, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world));
  WRONG("root is 17", MPI_ERR_ROOT, MPI_Reduce(ints, more, 1, MPI_INT, MPI_SUM, 17, world));
  WRONG("recvcount is -1", MPI_ERR_COUNT, MPI_Reduce_scatter_block(ints, more, -1, MPI_INT, MPI_SUM, world));
  WRONG("info is MPI_COMM_WORLD, a communicator", MPI_ERR_INFO,
        MPI_Allreduce_init(ints, more, 1, MPI_INT, MPI_SUM, world, (MPI_Info)MPI_COMM_WORLD, &request));

  MPI_Op op;
  WRONG("user_fn is a null pointer", MPI_ERR_ARG, MPI_Op_create(NULL, 1, &op));
  WRONG("op is a null pointer", MPI_ERR_ARG, MPI_Op_create(one, 1, NULL));
  op = MPI_SUM;
  WRONG("op is MPI_SUM, which is predefined; it cannot be freed", MPI_ERR_OP, MPI_Op_free(&op));
  op = MPI_OP_NULL;
  WRONG("op is MPI_OP_NULL", MPI_ERR_OP, MPI_Op_free(&op));
  MPI_Op_create(one, 1, &op);
  MPI_Op copy = op;
  MPI_Op_free(&op);
  WRONG("an operation that was freed already", MPI_ERR_OP, MPI_Allreduce(ints, more, 1, MPI_INT, copy, world));
  WRONG("an operation that was freed already", MPI_ERR_OP, MPI_Op_free(&copy));
  WRONG("commute is a null pointer", MPI_ERR_ARG, MPI_Op_commutative(MPI_SUM, NULL));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Reduce_local(ints, more, -1, MPI_INT, MPI_SUM));
  WRONG("inbuf and inoutbuf are the same", MPI_ERR_BUFFER, MPI_Reduce_local(ints, ints, 1, MPI_INT, MPI_SUM));
  WRONG("inoutbuf is a null pointer", MPI_ERR_BUFFER, MPI_Reduce_local(ints, NULL, 1, MPI_INT, MPI_SUM));
}
