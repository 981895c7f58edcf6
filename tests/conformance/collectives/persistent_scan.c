// The program scan.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "scan.c"
