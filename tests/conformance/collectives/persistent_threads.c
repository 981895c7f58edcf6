// The program threads.c with persistent calls.
// weft-test: cflags=-pthread
#define FORM_PERSISTENT
#include "forms.h"

#include "threads.c"
