/* A plugin with state, that needs a library with state, opens another plugin, and tells the program what it does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int dep_add(int n);
int near_add(int n);
void program_note(const char *what);
int program_rank(void);

static int total;
static pthread_t constructed;
static int arguments;

static void at_exit(void) { program_note("handler"); }

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    constructed = pthread_self();
    arguments = argv[argc] == NULL ? argc : -1;
    atexit(at_exit);
    program_note("begin");
}

__attribute__((destructor)) static void end(void) { program_note("end"); }

int counter_add(int n) { return total += n; }
int counter_dep(int n) { return dep_add(n); }
int counter_near(int n) { return near_add(n); }
int counter_thread(void) { return pthread_equal(constructed, pthread_self()); }
int counter_arguments(void) { return arguments; }
int counter_program(void) { return program_rank(); }
int *counter_option(void) { return &optind; }
int counter_exit(void) { return (void *)exit == dlsym(RTLD_DEFAULT, "exit"); }

int counter_stream(FILE *stream) { return stdout == stream; }
int counter_puts(int (*function)(const char *)) { return puts == function; }

/* The program has one of this name, too. */
int common(void) { return 2; }
int counter_common(void) { return common(); }
int only_here(void) { return 3; }
int counter_default(void) { return dlsym(RTLD_DEFAULT, "only_here") == (void *)only_here; }
void *counter_next(void) { return dlsym(RTLD_NEXT, "dep_add"); }

int counter_mpi(void)
{
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int counter_inner(int n)
{
    void *inner = dlopen("libinner.so", RTLD_NOW);
    int (*add)(int) = inner ? (int (*)(int))dlsym(inner, "inner_add") : NULL;
    return add ? add(n) : -1;
}
