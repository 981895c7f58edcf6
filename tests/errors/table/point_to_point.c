// Chapters 3 and 4: messages.
#include "table.h"

static void sends(void) {
  WRONG("count is -1; it must not be negative", MPI_ERR_COUNT, MPI_Send(ints, -1, MPI_INT, 0, 0, world));
  WRONG("count is -2147483648", MPI_ERR_COUNT, MPI_Send(ints, -2147483647 - 1, MPI_INT, 0, 0, world));
  WRONG("count is -5", MPI_ERR_COUNT, MPI_Send_c(ints, -5, MPI_INT, 0, 0, world));
  WRONG("count is 4611686018427387904", MPI_ERR_COUNT, MPI_Send_c(ints, 1LL << 62, MPI_INT, 0, 0, world));
  WRONG("buf is a null pointer", MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, 0, 0, world));
  WRONG("buf is a null pointer", MPI_ERR_BUFFER, MPI_Ssend(MPI_BOTTOM, 3, MPI_BYTE, 0, 0, world));
  WRONG("buf is a null pointer", MPI_ERR_BUFFER, MPI_Rsend(NULL, 1, vector, 0, 0, world));
  WRONG("buf is MPI_IN_PLACE", MPI_ERR_BUFFER, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, world));
  WRONG("datatype is MPI_DATATYPE_NULL; pass a datatype", MPI_ERR_TYPE,
        MPI_Send(ints, 1, MPI_DATATYPE_NULL, 0, 0, world));
  WRONG("which is not committed; call MPI_Type_commit", MPI_ERR_TYPE, MPI_Send(ints, 1, raw, 0, 0, world));
  WRONG("datatype is MPI_SUM, an operation; pass a datatype", MPI_ERR_TYPE,
        MPI_Send(ints, 1, (MPI_Datatype)MPI_SUM, 0, 0, world));
  WRONG("dest is -77", MPI_ERR_RANK, MPI_Send(ints, 1, MPI_INT, -77, 0, world));
  WRONG("dest is 1000; use a rank from 0 to", MPI_ERR_RANK, MPI_Send(ints, 1, MPI_INT, 1000, 0, world));
  WRONG("dest is -1 (MPI_ANY_SOURCE)", MPI_ERR_RANK, MPI_Send(ints, 1, MPI_INT, MPI_ANY_SOURCE, 0, world));
  WRONG("dest is -32766 (MPI_UNDEFINED)", MPI_ERR_RANK, MPI_Bsend(ints, 1, MPI_INT, MPI_UNDEFINED, 0, world));
  WRONG("dest is -4 (MPI_ROOT)", MPI_ERR_RANK, MPI_Isend(ints, 1, MPI_INT, MPI_ROOT, 0, world, &request));
  WRONG("tag is -1; use a tag from 0 to 2147483647", MPI_ERR_TAG, MPI_Send(ints, 1, MPI_INT, 0, -1, world));
  WRONG("tag is -2 (MPI_ANY_TAG)", MPI_ERR_TAG, MPI_Send(ints, 1, MPI_INT, 0, MPI_ANY_TAG, world));
  WRONG("tag is -3", MPI_ERR_TAG, MPI_Send(ints, 1, MPI_INT, MPI_PROC_NULL, -3, world));
  WRONG("count is -2", MPI_ERR_COUNT, MPI_Send(ints, -2, MPI_INT, MPI_PROC_NULL, 0, world));
  WRONG("comm is MPI_COMM_NULL; pass a communicator", MPI_ERR_COMM, MPI_Send(ints, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  WRONG("comm is zero; is the variable initialised?", MPI_ERR_COMM, MPI_Send(ints, 1, MPI_INT, 0, 0, (MPI_Comm)0));
  WRONG("comm is MPI_GROUP_EMPTY, a group", MPI_ERR_COMM, MPI_Ssend(ints, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_GROUP_EMPTY));
  WRONG("request is a null pointer", MPI_ERR_ARG, MPI_Isend(ints, 1, MPI_INT, 0, 0, world, NULL));
  WRONG("request is a null pointer", MPI_ERR_ARG, MPI_Issend(ints, 1, MPI_INT, 0, 0, world, NULL));
  WRONG("dest is 64", MPI_ERR_RANK, MPI_Irsend(ints, 1, MPI_INT, 64, 0, world, &request));
  WRONG("tag is -9", MPI_ERR_TAG, MPI_Ibsend(ints, 1, MPI_INT, 0, -9, world, &request));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Send_init(ints, -1, MPI_INT, 0, 0, world, &request));
  WRONG("dest is -4", MPI_ERR_RANK, MPI_Ssend_init(ints, 1, MPI_INT, -4, 0, world, &request));
  WRONG("which is not committed", MPI_ERR_TYPE, MPI_Rsend_init(ints, 1, raw, 0, 0, world, &request));
  WRONG("buf is a null pointer", MPI_ERR_BUFFER, MPI_Bsend_init(NULL, 1, MPI_INT, 0, 0, world, &request));
  FINE("no data at no address", MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, world));
}

static void receives(void) {
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Recv(ints, -1, MPI_INT, 0, 0, world, &status));
  WRONG("buf is a null pointer", MPI_ERR_BUFFER, MPI_Recv(NULL, 1, MPI_INT, 0, 0, world, &status));
  WRONG("source is 1000; use a rank from 0 to", MPI_ERR_RANK, MPI_Recv(ints, 1, MPI_INT, 1000, 0, world, &status));
  WRONG("source is -33", MPI_ERR_RANK, MPI_Recv(ints, 1, MPI_INT, -33, 0, world, &status));
  WRONG("source is -4 (MPI_ROOT)", MPI_ERR_RANK, MPI_Irecv(ints, 1, MPI_INT, MPI_ROOT, 0, world, &request));
  WRONG("tag is -5; use a tag from 0 to 2147483647 or MPI_ANY_TAG", MPI_ERR_TAG,
        MPI_Recv(ints, 1, MPI_INT, 0, -5, world, &status));
  WRONG("tag is -1", MPI_ERR_TAG, MPI_Irecv(ints, 1, MPI_INT, 0, -1, world, &request));
  WRONG("which is not committed", MPI_ERR_TYPE, MPI_Irecv(ints, 1, raw, 0, 0, world, &request));
  WRONG("request is a null pointer", MPI_ERR_ARG, MPI_Irecv(ints, 1, MPI_INT, 0, 0, world, NULL));
  WRONG("source is 99", MPI_ERR_RANK, MPI_Recv_init(ints, 1, MPI_INT, 99, 0, world, &request));
  WRONG("source is 99", MPI_ERR_RANK, MPI_Probe(99, 0, world, &status));
  WRONG("tag is -8", MPI_ERR_TAG, MPI_Probe(0, -8, world, &status));
  WRONG("flag is a null pointer", MPI_ERR_ARG, MPI_Iprobe(0, 0, world, NULL, &status));
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Iprobe(0, 0, MPI_COMM_NULL, &flag, &status));
  WRONG("source is -2147483648", MPI_ERR_RANK, MPI_Iprobe(-2147483647 - 1, 0, world, &flag, &status));
  MPI_Message message = MPI_MESSAGE_NULL;
  WRONG("message is a null pointer", MPI_ERR_ARG, MPI_Mprobe(0, 0, world, NULL, &status));
  WRONG("source is 7777", MPI_ERR_RANK, MPI_Mprobe(7777, 0, world, &message, &status));
  WRONG("message is a null pointer", MPI_ERR_ARG, MPI_Improbe(0, 0, world, &flag, NULL, &status));
  WRONG("message is MPI_MESSAGE_NULL", MPI_ERR_REQUEST, MPI_Mrecv(ints, 1, MPI_INT, &message, &status));
  WRONG("message is MPI_MESSAGE_NULL", MPI_ERR_REQUEST, MPI_Imrecv(ints, 1, MPI_INT, &message, &request));
  WRONG("message is a null pointer", MPI_ERR_ARG, MPI_Mrecv(ints, 1, MPI_INT, NULL, &status));

  // A message received twice.
  MPI_Request sent;
  MPI_Isend(more, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &sent);
  MPI_Mprobe(0, 4, MPI_COMM_SELF, &message, &status);
  MPI_Message copy = message;
  MPI_Mrecv(ints, 1, MPI_INT, &message, &status);
  WRONG("a message that was freed already", MPI_ERR_REQUEST, MPI_Mrecv(ints, 1, MPI_INT, &copy, &status));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);

  // A message longer than the buffer.
  MPI_Isend(more, 8, MPI_INT, 0, 5, MPI_COMM_SELF, &sent);
  WRONG("32 bytes", MPI_ERR_TRUNCATE, MPI_Recv(ints, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &status));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Isend(more, 9, MPI_INT, 0, 5, MPI_COMM_SELF, &sent);
  WRONG("36 bytes", MPI_ERR_TRUNCATE,
        MPI_Sendrecv(more, 0, MPI_INT, MPI_PROC_NULL, 0, ints, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &status));
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void both(void) {
  WRONG("sendcount is -1", MPI_ERR_COUNT,
        MPI_Sendrecv(ints, -1, MPI_INT, 0, 0, more, 1, MPI_INT, 0, 0, world, &status));
  WRONG("recvcount is -2", MPI_ERR_COUNT,
        MPI_Sendrecv(ints, 1, MPI_INT, 0, 0, more, -2, MPI_INT, 0, 0, world, &status));
  WRONG("sendtype is MPI_DATATYPE_NULL", MPI_ERR_TYPE,
        MPI_Sendrecv(ints, 1, MPI_DATATYPE_NULL, 0, 0, more, 1, MPI_INT, 0, 0, world, &status));
  WRONG("recvtype is ", MPI_ERR_TYPE, MPI_Sendrecv(ints, 1, MPI_INT, 0, 0, more, 1, raw, 0, 0, world, &status));
  WRONG("dest is 5000", MPI_ERR_RANK,
        MPI_Sendrecv(ints, 1, MPI_INT, 5000, 0, more, 1, MPI_INT, 0, 0, world, &status));
  WRONG("source is 5000", MPI_ERR_RANK,
        MPI_Sendrecv(ints, 1, MPI_INT, 0, 0, more, 1, MPI_INT, 5000, 0, world, &status));
  WRONG("sendtag is -7", MPI_ERR_TAG,
        MPI_Sendrecv(ints, 1, MPI_INT, 0, -7, more, 1, MPI_INT, 0, 0, world, &status));
  WRONG("recvtag is -8", MPI_ERR_TAG,
        MPI_Sendrecv(ints, 1, MPI_INT, 0, 0, more, 1, MPI_INT, 0, -8, world, &status));
  WRONG("sendbuf is a null pointer", MPI_ERR_BUFFER,
        MPI_Sendrecv(NULL, 1, MPI_INT, 0, 0, more, 1, MPI_INT, 0, 0, world, &status));
  WRONG("recvbuf is a null pointer", MPI_ERR_BUFFER,
        MPI_Sendrecv(ints, 1, MPI_INT, 0, 0, NULL, 1, MPI_INT, 0, 0, world, &status));
  WRONG("count is -1", MPI_ERR_COUNT, MPI_Sendrecv_replace(ints, -1, MPI_INT, 0, 0, 0, 0, world, &status));
  WRONG("sendtag is -2", MPI_ERR_TAG, MPI_Sendrecv_replace(ints, 1, MPI_INT, 0, -2, 0, 0, world, &status));
  WRONG("source is -100", MPI_ERR_RANK, MPI_Sendrecv_replace(ints, 1, MPI_INT, 0, 0, -100, 0, world, &status));
  WRONG("request is a null pointer", MPI_ERR_ARG,
        MPI_Isendrecv(ints, 1, MPI_INT, 0, 0, more, 1, MPI_INT, 0, 0, world, NULL));
  WRONG("recvcount is -3", MPI_ERR_COUNT,
        MPI_Isendrecv(ints, 1, MPI_INT, 0, 0, more, -3, MPI_INT, 0, 0, world, &request));
  WRONG("dest is -9", MPI_ERR_RANK, MPI_Isendrecv_replace(ints, 1, MPI_INT, -9, 0, 0, 0, world, &request));
}

static void buffered(void) {
  void *address;
  WRONG("no buffer", MPI_ERR_BUFFER, MPI_Bsend(ints, 1, MPI_INT, 0, 0, world));
  WRONG("no buffer", MPI_ERR_BUFFER, MPI_Buffer_detach(&address, &number));
  WRONG("size is -1", MPI_ERR_ARG, MPI_Buffer_attach(text, -1));
  WRONG("buffer is a null pointer", MPI_ERR_BUFFER, MPI_Buffer_attach(NULL, 100));
  MPI_Buffer_attach(text, 200);
  WRONG("attached already", MPI_ERR_BUFFER, MPI_Buffer_attach(text, 200));
  WRONG("bytes", MPI_ERR_BUFFER, MPI_Bsend(long_text, 4000, MPI_CHAR, 0, 0, MPI_COMM_SELF));
  WRONG("buffer_addr is a null pointer", MPI_ERR_ARG, MPI_Buffer_detach(NULL, &number));
  WRONG("size is a null pointer", MPI_ERR_ARG, MPI_Buffer_detach(&address, NULL));
  MPI_Buffer_detach(&address, &number);
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_attach_buffer(MPI_COMM_NULL, text, 200));
  WRONG("no buffer", MPI_ERR_BUFFER, MPI_Comm_flush_buffer(MPI_COMM_SELF));
}

static void partitioned(void) {
  WRONG("partitions is 0", MPI_ERR_ARG,
        MPI_Psend_init(ints, 0, 1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &request));
  WRONG("count is -1", MPI_ERR_COUNT,
        MPI_Psend_init(ints, 2, -1, MPI_INT, 0, 0, world, MPI_INFO_NULL, &request));
  WRONG("source is MPI_ANY_SOURCE", MPI_ERR_RANK,
        MPI_Precv_init(ints, 2, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_INFO_NULL, &request));
  WRONG("tag is MPI_ANY_TAG", MPI_ERR_TAG,
        MPI_Precv_init(ints, 2, 1, MPI_INT, 0, MPI_ANY_TAG, world, MPI_INFO_NULL, &request));
  WRONG("request is MPI_REQUEST_NULL", MPI_ERR_REQUEST, MPI_Pready(0, MPI_REQUEST_NULL));
  MPI_Psend_init(ints, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request);
  WRONG("is not active", MPI_ERR_REQUEST, MPI_Pready(0, request));
  MPI_Start(&request);
  WRONG("partition is 2", MPI_ERR_ARG, MPI_Pready(2, request));
  WRONG("partition is -1", MPI_ERR_ARG, MPI_Pready(-1, request));
  MPI_Pready_range(0, 1, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

void point_to_point(void) {
  sends();
  receives();
  both();
  buffered();
  partitioned();
}
