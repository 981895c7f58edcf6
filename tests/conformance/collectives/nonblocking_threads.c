// The program threads.c with nonblocking calls.
// weft-test: cflags=-pthread
#include "forms.h"

#include "threads.c"
