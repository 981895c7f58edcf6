// The program reduce.c with nonblocking calls.
#include "forms.h"

#include "reduce.c"
