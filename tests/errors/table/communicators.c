// Chapters 7 and 11: communicators, attributes, sessions.
#include "table.h"

static int copy(MPI_Datatype t, int k, void *e, void *in, void *out, int *f) {
  (void)t, (void)k, (void)e, (void)in, (void)out, *f = 0;
  return MPI_SUCCESS;
}

static int refuse(MPI_Comm c, int k, void *value, void *e) { (void)c, (void)k, (void)value, (void)e; return MPI_ERR_OTHER; }

static void creation(void) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group everybody, none = MPI_GROUP_EMPTY;
  MPI_Comm_group(world, &everybody);
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &number));
  WRONG("rank is a null pointer", MPI_ERR_ARG, MPI_Comm_rank(world, NULL));
  WRONG("size is a null pointer", MPI_ERR_ARG, MPI_Comm_size(world, NULL));
  WRONG("comm is MPI_DOUBLE, a datatype", MPI_ERR_COMM, MPI_Comm_size((MPI_Comm)MPI_DOUBLE, &number));
  WRONG("comm is an intracommunicator", MPI_ERR_COMM, MPI_Comm_remote_size(world, &number));
  WRONG("comm is an intracommunicator", MPI_ERR_COMM, MPI_Comm_remote_group(world, &none));
  WRONG("comm1 is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_compare(MPI_COMM_NULL, world, &number));
  WRONG("comm2 is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_compare(world, MPI_COMM_NULL, &number));
  WRONG("newcomm is a null pointer", MPI_ERR_ARG, MPI_Comm_dup(world, NULL));
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_dup(MPI_COMM_NULL, &made));
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_idup(MPI_COMM_NULL, &made, &request));
  WRONG("info is ", MPI_ERR_INFO, MPI_Comm_dup_with_info(world, (MPI_Info)world, &made));
  WRONG("color is -5; it must not be negative", MPI_ERR_ARG, MPI_Comm_split(MPI_COMM_SELF, -5, 0, &made));
  WRONG("split_type is 5", MPI_ERR_ARG, MPI_Comm_split_type(MPI_COMM_SELF, 5, 0, MPI_INFO_NULL, &made));
  WRONG("group is MPI_GROUP_NULL", MPI_ERR_GROUP, MPI_Comm_create(MPI_COMM_SELF, MPI_GROUP_NULL, &made));
  WRONG("tag is -4", MPI_ERR_TAG, MPI_Comm_create_group(MPI_COMM_SELF, everybody, -4, &made));
  if (size > 1)
    WRONG("which is not in comm", MPI_ERR_GROUP, MPI_Comm_create_group(MPI_COMM_SELF, everybody, 0, &made));
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_free(&made));
  made = MPI_COMM_WORLD;
  WRONG("comm is MPI_COMM_WORLD, which is predefined; it cannot be freed", MPI_ERR_COMM, MPI_Comm_free(&made));
  made = MPI_COMM_SELF;
  WRONG("comm is MPI_COMM_SELF, which is predefined; it cannot be freed", MPI_ERR_COMM, MPI_Comm_disconnect(&made));
  WRONG("comm is a null pointer", MPI_ERR_ARG, MPI_Comm_free(NULL));
  MPI_Comm_dup(MPI_COMM_SELF, &made);
  MPI_Comm gone = made;
  MPI_Comm_free(&made);
  WRONG("a communicator that was freed already", MPI_ERR_COMM, MPI_Comm_size(gone, &number));
  MPI_Comm_dup(MPI_COMM_SELF, &made);  // uses the same slot
  WRONG("a communicator that was freed already", MPI_ERR_COMM, MPI_Comm_free(&gone));
  WRONG("a communicator that was freed already", MPI_ERR_COMM, MPI_Send(ints, 1, MPI_INT, 0, 0, gone));
  MPI_Comm_free(&made);
  WRONG("local_comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Intercomm_create(MPI_COMM_NULL, 0, world, 0, 0, &made));
  WRONG("local_leader is 900", MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_SELF, 900, world, 0, 0, &made));
  WRONG("remote_leader is 900", MPI_ERR_RANK, MPI_Intercomm_create(MPI_COMM_SELF, 0, world, 900, 0, &made));
  WRONG("tag is -6", MPI_ERR_TAG, MPI_Intercomm_create(MPI_COMM_SELF, 0, world, 0, -6, &made));
  WRONG("intercomm is an intracommunicator", MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_SELF, 0, &made));
  MPI_Group_free(&everybody);
}

static void caching(void) {
  void *value;
  int key, type_key, gone;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Type_create_keyval(copy, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
  WRONG("comm_keyval is a null pointer", MPI_ERR_ARG,
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL));
  WRONG("comm_keyval is MPI_KEYVAL_INVALID", MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_KEYVAL_INVALID, NULL));
  WRONG("comm_keyval is MPI_TAG_UB", MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, MPI_TAG_UB, NULL));
  WRONG("comm_keyval is MPI_UNIVERSE_SIZE", MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, MPI_UNIVERSE_SIZE));
  WRONG("a key for datatypes, not for communicators", MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, type_key, NULL));
  WRONG("a key for communicators, not for datatypes", MPI_ERR_KEYVAL, MPI_Type_set_attr(vector, key, NULL));
  WRONG("the object has no attribute with this key", MPI_ERR_KEYVAL, MPI_Comm_delete_attr(world, key));
  WRONG("comm_keyval is 123456789", MPI_ERR_KEYVAL, MPI_Comm_get_attr(world, 123456789, &value, &flag));
  WRONG("attribute_val is a null pointer", MPI_ERR_ARG, MPI_Comm_get_attr(world, key, NULL, &flag));
  WRONG("flag is a null pointer", MPI_ERR_ARG, MPI_Comm_get_attr(world, key, &value, NULL));
  WRONG("comm is MPI_COMM_NULL", MPI_ERR_COMM, MPI_Comm_get_attr(MPI_COMM_NULL, key, &value, &flag));
  gone = key;
  MPI_Comm_free_keyval(&key), MPI_Type_free_keyval(&type_key);
  WRONG("freed already", MPI_ERR_KEYVAL, MPI_Comm_set_attr(world, gone, NULL));
  WRONG("freed already", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&gone));
  int predefined = MPI_TAG_UB;
  WRONG("comm_keyval is MPI_TAG_UB", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&predefined));
  WRONG("comm_keyval is MPI_KEYVAL_INVALID", MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&key));

  // A delete function that refuses: its code is the call's.
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
  MPI_Comm stubborn;
  MPI_Comm_dup(MPI_COMM_SELF, &stubborn);
  MPI_Comm_set_attr(stubborn, key, text);
  WRONG("delete function", MPI_ERR_OTHER, MPI_Comm_delete_attr(stubborn, key));
  WRONG("delete function", MPI_ERR_OTHER, MPI_Comm_free(&stubborn));
  WRONG("comm_name is a null pointer", MPI_ERR_ARG, MPI_Comm_set_name(world, NULL));
  WRONG("resultlen is a null pointer", MPI_ERR_ARG, MPI_Comm_get_name(world, text, NULL));
  WRONG("comm is ", MPI_ERR_COMM, MPI_Comm_set_name((MPI_Comm)text, "name"));
  WRONG("info is ", MPI_ERR_INFO, MPI_Comm_set_info(world, (MPI_Info)vector));
  WRONG("info_used is a null pointer", MPI_ERR_ARG, MPI_Comm_get_info(world, NULL));
}

static void sessions(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Info info;
  MPI_Group group;
  WRONG("session is a null pointer", MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL));
  WRONG("errhandler is MPI_ERRHANDLER_NULL", MPI_ERR_ERRHANDLER,
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &session));
  WRONG("session is MPI_SESSION_NULL", MPI_ERR_SESSION, MPI_Session_finalize(&session));
  WRONG("session is MPI_SESSION_NULL", MPI_ERR_SESSION, MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number));
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  WRONG("n is 100", MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 100, &number, text));
  WRONG("n is -1", MPI_ERR_ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &number, text));
  WRONG("pset_name is \"mpi://nowhere\"", MPI_ERR_ARG, MPI_Session_get_pset_info(session, "mpi://nowhere", &info));
  WRONG("pset_name is a null pointer", MPI_ERR_ARG, MPI_Group_from_session_pset(session, NULL, &group));
  WRONG("pset_name is \"mpi://nowhere\"", MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://nowhere", &group));
  MPI_Session gone = session;
  MPI_Session_finalize(&session);
  WRONG("a session that was freed already", MPI_ERR_SESSION, MPI_Session_finalize(&gone));
}

void communicators(void) {
  creation();
  caching();
  sessions();
}
