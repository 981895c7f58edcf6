// The program scatter.c with nonblocking calls.
#include "forms.h"

#include "scatter.c"
