// The program scatter.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "scatter.c"
