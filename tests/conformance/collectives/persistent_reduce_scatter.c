// The program reduce_scatter.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "reduce_scatter.c"
