// The program alltoall.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "alltoall.c"
