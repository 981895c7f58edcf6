// Handles of other ranks, of objects whose slot was used again, and invented ones.
#include "table.h"

void handles(void) {
  // A handle that another rank made: here it means nothing, whatever this rank has in the same place.
  MPI_Comm comm, *comms = malloc(size * sizeof(comm));
  MPI_Datatype type, *types = malloc(size * sizeof(type));
  MPI_Info info, *infos = malloc(size * sizeof(info));
  MPI_Request *all = malloc(size * sizeof(request));
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Type_contiguous(3, MPI_INT, &type), MPI_Type_commit(&type);
  MPI_Info_create(&info);
  MPI_Irecv(ints, 1, MPI_INT, MPI_ANY_SOURCE, 77, comm, &request);
  MPI_Allgather(&comm, sizeof(comm), MPI_BYTE, comms, sizeof(comm), MPI_BYTE, world);
  MPI_Allgather(&type, sizeof(type), MPI_BYTE, types, sizeof(type), MPI_BYTE, world);
  MPI_Allgather(&info, sizeof(info), MPI_BYTE, infos, sizeof(info), MPI_BYTE, world);
  MPI_Allgather(&request, sizeof(request), MPI_BYTE, all, sizeof(request), MPI_BYTE, world);
  if (size > 1) {
    int other = (rank + 1) % size;
    char words[64];
    sprintf(words, "a communicator of rank %d", other);
    WRONG(words, MPI_ERR_COMM, MPI_Send(ints, 1, MPI_INT, 0, 0, comms[other]));
    WRONG(words, MPI_ERR_COMM, MPI_Comm_free(&comms[other]));
    sprintf(words, "a datatype of rank %d", other);
    WRONG(words, MPI_ERR_TYPE, MPI_Send(ints, 1, types[other], 0, 0, world));
    WRONG(words, MPI_ERR_TYPE, MPI_Type_free(&types[other]));
    sprintf(words, "an info object of rank %d", other);
    WRONG(words, MPI_ERR_INFO, MPI_Info_get_nkeys(infos[other], &number));
    sprintf(words, "a request of rank %d", other);
    WRONG(words, MPI_ERR_REQUEST, MPI_Wait(&all[other], &status));
    WRONG(words, MPI_ERR_REQUEST, MPI_Cancel(&all[other]));
  }
  MPI_Barrier(world);
  MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
  FINE("its own handles are untouched", MPI_Comm_size(comm, &number));

  // Handles of one kind given as another.
  WRONG("the handle of a datatype; pass a communicator", MPI_ERR_COMM, MPI_Send(ints, 1, MPI_INT, 0, 0, (MPI_Comm)type));
  WRONG("the handle of a communicator; pass a datatype", MPI_ERR_TYPE, MPI_Type_size((MPI_Datatype)comm, &number));
  WRONG("the handle of an info object; pass a group", MPI_ERR_GROUP, MPI_Group_size((MPI_Group)info, &number));
  WRONG("the handle of a datatype; pass an operation", MPI_ERR_OP, MPI_Op_commutative((MPI_Op)type, &flag));
  WRONG("the handle of a communicator; pass an error handler", MPI_ERR_ERRHANDLER,
        MPI_Comm_set_errhandler(comm, (MPI_Errhandler)comm));
  WRONG("the handle of a communicator", MPI_ERR_REQUEST, MPI_Wait((MPI_Request *)&comm, &status));
  WRONG("the handle of a datatype; pass an info object", MPI_ERR_INFO, MPI_Comm_set_info(comm, (MPI_Info)type));
  WRONG("the handle of a datatype; pass a session", MPI_ERR_SESSION,
        MPI_Session_get_num_psets((MPI_Session)type, MPI_INFO_NULL, &number));

  // A stale handle while its slot is used again, many times.
  MPI_Info stale = info;
  MPI_Info_free(&info);
  for (int i = 0; i < 1000; i++) {
    MPI_Info_create(&info);
    if (info == stale) row_begin("MPI_Info_create(info)", "a handle came back"), row_end("MPI_SUCCESS", MPI_SUCCESS, 1);
    if (i < 999) MPI_Info_free(&info);
  }
  WRONG("an info object that was freed already", MPI_ERR_INFO, MPI_Info_get_nkeys(stale, &number));
  MPI_Info_free(&info);

  // Invented values: bits of all kinds, addresses of the heap, the stack and code.
  unsigned long long seed = 88172645463325252ULL + rank;
  row_begin("MPI_Comm_size(invented)", "20000 invented handles");
  int refused = MPI_SUCCESS;
  for (int i = 0; i < 20000; i++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    unsigned long long invented = i % 4 == 0 ? seed : i % 4 == 1 ? seed >> 32 : i % 4 == 2 ? seed & 0xfff0ffffffffULL
                                                                                            : seed % 4096;
    if (invented == (unsigned long long)MPI_COMM_WORLD || invented == (unsigned long long)MPI_COMM_SELF) continue;
    MPI_Comm guess = (MPI_Comm)invented;
    MPI_Request guessed = (MPI_Request)invented;
    if (MPI_Comm_size(guess, &number) != MPI_ERR_COMM && guess != comm) refused = MPI_ERR_OTHER;
    if (guessed != MPI_REQUEST_NULL && MPI_Test(&guessed, &flag, &status) != MPI_ERR_REQUEST) refused = MPI_ERR_OTHER;
    if (MPI_Info_get_nkeys((MPI_Info)invented, &number) != MPI_ERR_INFO && invented != (unsigned long long)MPI_INFO_ENV)
      refused = MPI_ERR_OTHER;
  }
  row_end("MPI_SUCCESS", MPI_SUCCESS, refused);
  WRONG("is not the handle of a communicator", MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)&number, &number));
  WRONG("is not the handle of a communicator", MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)comms, &number));
  WRONG("is not the handle of a communicator", MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)handles, &number));
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
  free(comms), free(types), free(infos), free(all);
}
