// The program reduce_scatter.c with nonblocking calls.
#include "forms.h"

#include "reduce_scatter.c"
