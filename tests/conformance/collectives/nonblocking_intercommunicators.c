// The program intercommunicators.c with nonblocking calls.
#include "forms.h"

#include "intercommunicators.c"
