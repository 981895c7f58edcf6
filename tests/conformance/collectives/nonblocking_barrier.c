// The program barrier.c with nonblocking calls.
#include "forms.h"

#include "barrier.c"
