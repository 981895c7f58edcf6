// The program bcast.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "bcast.c"
