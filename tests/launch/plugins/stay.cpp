// Closes a plugin whose data of this thread waits for its destructor: it stays until the thread ends.
#include <cstdio>
#include <dlfcn.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *object = dlopen(argv[1], RTLD_NOW);
    auto add = (int (*)(int))dlsym(object, "add");
    add(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    dlclose(object);
    object = dlopen(argv[1], RTLD_NOW);
    add = (int (*)(int))dlsym(object, "add");
    std::printf("%d: still %d\n", rank, add(0));
    MPI_Finalize();
}
