// The program allgather.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "allgather.c"
