// The program alltoall.c with nonblocking calls.
#include "forms.h"

#include "alltoall.c"
