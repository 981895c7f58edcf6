/* Functions that Fortran's library calls besides those that are written by the generator. */
#include "recorder.h"

/* Where C's types do not do. */
#define OTHER(function, ...)                     \
    int function(__VA_ARGS__) {                  \
        printf("> %s", #function);
#define END              \
    end_of_record();     \
    return answer;       \
    }
OTHER(weft_fortran_op, void *f, uintptr_t word, int commute, uintptr_t *op) record(1, f != 0), record(2, word != 0), record(3, commute), *op = 7001; END
OTHER(weft_fortran_errhandler, int kind, void *f, uintptr_t word, uintptr_t *handler) record(1, kind), record(2, f != 0), record(3, word != 0), *handler = 7002; END
OTHER(weft_fortran_keyval, int kind, uintptr_t copy, uintptr_t delete, uintptr_t state, int old, int *keyval)
    record(1, kind), record(2, copy != 0), record(3, delete != 0), record(4, state != 0), record(5, old), *keyval = 7003; END
OTHER(weft_fortran_set_attribute, int kind, uintptr_t handle, int keyval, intptr_t value, int old)
    record(1, kind), record(2, number_of(handle)), record(3, keyval), record(4, value), record(5, old); END
OTHER(weft_fortran_get_attribute, int kind, uintptr_t handle, int keyval, intptr_t *value, int *flag)
    record(1, kind), record(2, number_of(handle)), record(3, keyval), *value = 7004, *flag = 1; END

#define CONVERTS(type, kind)                                                \
    int PMPI_##kind##_toint(type handle) { return (int)number_of(handle); } \
    type PMPI_##kind##_fromint(int number) { return (type)handle_of((long)number); }
CONVERTS(MPI_Comm, Comm)
CONVERTS(MPI_Datatype, Type)
CONVERTS(MPI_Errhandler, Errhandler)
CONVERTS(MPI_File, File)
CONVERTS(MPI_Group, Group)
CONVERTS(MPI_Info, Info)
CONVERTS(MPI_Message, Message)
CONVERTS(MPI_Op, Op)
CONVERTS(MPI_Request, Request)
CONVERTS(MPI_Session, Session)
CONVERTS(MPI_Win, Win)
