/* Plugins with which something is wrong: one that crashes, one that forks, one whose code is not position-independent. */
#include <unistd.h>

#ifdef CRASH
static void write_to(int *place) { *place = 3; }
void go(void) { write_to((int *)8); }
#endif

#ifdef FORK
int start(void) { return fork(); }
#endif

#ifdef TEXT
/* An address in code. */
__asm__(".text\n.globl table\ntable: .quad table\n");
#endif
