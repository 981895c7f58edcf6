// The program barrier.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "barrier.c"
