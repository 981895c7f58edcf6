// The program bcast.c with nonblocking calls.
#include "forms.h"

#include "bcast.c"
