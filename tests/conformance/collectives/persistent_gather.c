// The program gather.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "gather.c"
