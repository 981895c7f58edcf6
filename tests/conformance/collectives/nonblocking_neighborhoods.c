// The program neighborhoods.c with nonblocking calls.
#include "forms.h"

#include "neighborhoods.c"
