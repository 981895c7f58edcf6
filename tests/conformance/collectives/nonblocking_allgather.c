// The program allgather.c with nonblocking calls.
#include "forms.h"

#include "allgather.c"
