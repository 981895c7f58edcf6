// Chapters 9, 10 and 11: errors, info, memory, initialisation.
#include "table.h"

static void on_comm(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void information(void) {
  MPI_Info info, made = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  WRONG("info is MPI_INFO_NULL; pass an info object", MPI_ERR_INFO, MPI_Info_set(MPI_INFO_NULL, "key", "value"));
  WRONG("key is a null pointer", MPI_ERR_ARG, MPI_Info_set(info, NULL, "value"));
  WRONG("value is a null pointer", MPI_ERR_ARG, MPI_Info_set(info, "key", NULL));
  WRONG("key has 0 characters", MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "value"));
  WRONG("key has 8191 characters", MPI_ERR_INFO_KEY, MPI_Info_set(info, long_text, "value"));
  WRONG("value has 8191 characters", MPI_ERR_INFO_VALUE, MPI_Info_set(info, "key", long_text));
  WRONG("info is MPI_INFO_ENV", MPI_ERR_INFO, MPI_Info_set(MPI_INFO_ENV, "key", "value"));
  WRONG("key is \"absent\"", MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "absent"));
  WRONG("n is 5", MPI_ERR_ARG, MPI_Info_get_nthkey(info, 5, text));
  WRONG("n is -1", MPI_ERR_ARG, MPI_Info_get_nthkey(info, -1, text));
  WRONG("nkeys is a null pointer", MPI_ERR_ARG, MPI_Info_get_nkeys(info, NULL));
  WRONG("buflen is a null pointer", MPI_ERR_ARG, MPI_Info_get_string(info, "key", NULL, text, &flag));
  number = -4;
  WRONG("buflen is -4", MPI_ERR_ARG, MPI_Info_get_string(info, "key", &number, text, &flag));
  WRONG("valuelen is -1", MPI_ERR_ARG, MPI_Info_get(info, "key", -1, text, &flag));
  WRONG("newinfo is a null pointer", MPI_ERR_ARG, MPI_Info_dup(info, NULL));
  WRONG("info is MPI_INFO_NULL", MPI_ERR_INFO, MPI_Info_free(&made));
  made = MPI_INFO_ENV;
  WRONG("info is MPI_INFO_ENV", MPI_ERR_INFO, MPI_Info_free(&made));
  MPI_Info gone = info;
  MPI_Info_free(&info);
  WRONG("an info object that was freed already", MPI_ERR_INFO, MPI_Info_get_nkeys(gone, &number));
  WRONG("an info object that was freed already", MPI_ERR_INFO, MPI_Info_free(&gone));
}

static void errors(void) {
  int length, class, code;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL, on_session;
  WRONG("errorcode is 12345", MPI_ERR_ARG, MPI_Error_string(12345, text, &length));
  WRONG("errorcode is -1", MPI_ERR_ARG, MPI_Error_class(-1, &class));
  WRONG("string is a null pointer", MPI_ERR_ARG, MPI_Error_string(MPI_ERR_ARG, NULL, &length));
  WRONG("resultlen is a null pointer", MPI_ERR_ARG, MPI_Error_string(MPI_ERR_ARG, text, NULL));
  WRONG("errorclass is a null pointer", MPI_ERR_ARG, MPI_Add_error_class(NULL));
  WRONG("errorclass is 54321", MPI_ERR_ARG, MPI_Add_error_code(54321, &code));
  WRONG("errorcode is 13", MPI_ERR_ARG, MPI_Add_error_string(MPI_ERR_ARG, "mine"));
  MPI_Add_error_class(&class), MPI_Add_error_code(class, &code);
  WRONG("string has 8191 characters", MPI_ERR_ARG, MPI_Add_error_string(code, long_text));
  WRONG("string is a null pointer", MPI_ERR_ARG, MPI_Add_error_string(code, NULL));
  WRONG("errorclass is ", MPI_ERR_ARG, MPI_Add_error_code(code, &length));
  WRONG("still has error codes", MPI_ERR_ARG, MPI_Remove_error_class(class));
  WRONG("errorclass is 5", MPI_ERR_ARG, MPI_Remove_error_class(MPI_ERR_COMM));
  WRONG("errorcode is 16", MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_OTHER));
  WRONG("errorcode is 16", MPI_ERR_ARG, MPI_Remove_error_string(MPI_ERR_OTHER));
  WRONG("comm_errhandler_fn is a null pointer", MPI_ERR_ARG, MPI_Comm_create_errhandler(NULL, &handler));
  WRONG("errhandler is a null pointer", MPI_ERR_ARG, MPI_Comm_create_errhandler(on_comm, NULL));
  WRONG("errhandler is MPI_ERRHANDLER_NULL", MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL));
  WRONG("errhandler is MPI_COMM_SELF, a communicator", MPI_ERR_ERRHANDLER,
        MPI_Comm_set_errhandler(world, (MPI_Errhandler)MPI_COMM_SELF));
  WRONG("errhandler is MPI_ERRHANDLER_NULL", MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&handler));
  MPI_Session_create_errhandler((MPI_Session_errhandler_function *)on_comm, &on_session);
  WRONG("created for a Session, not for a Communicator", MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(world, on_session));
  MPI_Errhandler_free(&on_session);
  MPI_Comm_create_errhandler(on_comm, &handler);
  MPI_Errhandler gone = handler;
  MPI_Errhandler_free(&handler);
  WRONG("an error handler that was freed already", MPI_ERR_ERRHANDLER, MPI_Comm_set_errhandler(world, gone));
  WRONG("an error handler that was freed already", MPI_ERR_ERRHANDLER, MPI_Errhandler_free(&gone));
}

void environment(void) {
  void *block;
  information();
  errors();
  WRONG("size is -1", MPI_ERR_ARG, MPI_Alloc_mem(-1, MPI_INFO_NULL, &block));
  WRONG("baseptr is a null pointer", MPI_ERR_ARG, MPI_Alloc_mem(8, MPI_INFO_NULL, NULL));
  WRONG("size is 9223372036854775807", MPI_ERR_NO_MEM, MPI_Alloc_mem(0x7fffffffffffffffL, MPI_INFO_NULL, &block));
  WRONG("base is 0x", MPI_ERR_BASE, MPI_Free_mem(text + 1));
  WRONG("MPI is initialised already", MPI_ERR_OTHER, MPI_Init(NULL, NULL));
  WRONG("required is 17", MPI_ERR_ARG, MPI_Init_thread(NULL, NULL, 17, &number));
  WRONG("flag is a null pointer", MPI_ERR_ARG, MPI_Initialized(NULL));
  WRONG("flag is a null pointer", MPI_ERR_ARG, MPI_Is_thread_main(NULL));
  WRONG("provided is a null pointer", MPI_ERR_ARG, MPI_Query_thread(NULL));
  WRONG("version is a null pointer", MPI_ERR_ARG, MPI_Get_version(NULL, &number));
  WRONG("resultlen is a null pointer", MPI_ERR_ARG, MPI_Get_processor_name(text, NULL));
}
