// Opens the plugin in C++, whose path is the argument.
#include <dlfcn.h>
#include <iostream>
#include <mpi.h>
#include <sstream>
#include <stdexcept>

template <class F> static F find(void *object, const char *name) { return (F)dlsym(object, name); }

int main(int argc, char **argv)
{
    int rank;
    std::ostringstream line;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *object = dlopen(argv[1], RTLD_NOW);
    if (!object) {
        std::cout << dlerror() << std::endl;
        return 1;
    }
    auto bump = find<int (*)(int)>(object, "bump");
    auto remember = find<int (*)(int)>(object, "remember");
    bump(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    line << rank << ": " << bump(0);
    try {
        find<void (*)(int)>(object, "thrower")(rank);
    } catch (const std::runtime_error &error) {
        line << ", " << error.what();
    }
    auto catcher = find<int (*)(void (*)(int), int)>(object, "catcher");
    line << ", caught " << catcher([](int n) { throw n + 7; }, rank);
    line << ", remembers " << remember(1) << remember(1);
    // A process has one object of a template's state for ever, so the plugin is not unloaded.
    dlclose(object);
    object = dlopen(argv[1], RTLD_NOW);
    line << ", still " << find<int (*)(int)>(object, "bump")(0) << "\n";
    std::cout << line.str() << std::flush;
    MPI_Finalize();
}
