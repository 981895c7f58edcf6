// The program reduce.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "reduce.c"
