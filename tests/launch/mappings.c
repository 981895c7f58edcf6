/* Prints how many memory mappings the process has while all ranks are there. */
#include <mpi.h>
#include <stdio.h>

int next(void);

int main(int argc, char **argv)
{
    int rank, lines = 0, c;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && next() == 1) {
        FILE *maps = fopen("/proc/self/maps", "r");
        while (maps && (c = getc(maps)) != EOF)
            lines += c == '\n';
        fclose(maps);
        printf("%d\n", lines);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
