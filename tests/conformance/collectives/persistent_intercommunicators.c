// The program intercommunicators.c with persistent calls.
#define FORM_PERSISTENT
#include "forms.h"

#include "intercommunicators.c"
