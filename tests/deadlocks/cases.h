/* What the programs of this suite share: a table of cases, of which the first argument names one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define NONE MPI_STATUS_IGNORE

#define MAYBE __attribute__((unused)) static
MAYBE int rank, size, zero, one[4], two[4];
MAYBE int large[1 << 18]; /* more than any library sends without asking */

struct the_case {
    const char *name;
    void (*run)(void);
};

static int run_case(const struct the_case *all, int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    for (; all->name; all++)
        if (argc > 1 && !strcmp(all->name, argv[1])) {
            all->run();
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "no such case\n");
    MPI_Abort(W, 1);
    return 1;
}
