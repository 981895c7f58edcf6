// The program neighborhoods.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "neighborhoods.c"
