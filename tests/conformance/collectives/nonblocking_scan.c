// The program scan.c with nonblocking calls.
#include "forms.h"

#include "scan.c"
