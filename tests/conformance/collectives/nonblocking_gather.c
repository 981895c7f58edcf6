// The program gather.c with nonblocking calls.
#include "forms.h"

#include "gather.c"
