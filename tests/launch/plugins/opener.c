/* Opens what its arguments name, and finds MPI where the library is opened; of the last one it calls the function `go`, if
   there is one. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *last = NULL;
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        last = dlopen(argv[i], RTLD_NOW);
        printf("%s\n", last ? "open" : dlerror());
        if (last && dlsym(last, "MPI_Send") && dlsym(last, "MPI_Send") != (void *)MPI_Send)
            printf("%s is another MPI\n", argv[i]);
    }
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    void (*go)(void) = last ? (void (*)(void))dlsym(last, "go") : NULL;
    if (go)
        go();
    MPI_Finalize();
    return 0;
}
