/* Threads of OpenMP compute or sleep while other ranks wait. flags=-fopenmp See wrong_messages.c for the comments. */
#include "cases.h"
#include <omp.h>
#include <time.h>

static void nap(void)
{
    struct timespec late = {0, 700000000L};
    nanosleep(&late, NULL);
}

/* case openmp_thread_sleeps ranks=2 */
static void openmp_thread_sleeps(void)
{
#pragma omp parallel num_threads(2)
    if (rank == 0 && omp_get_thread_num() == 1) nap();
    MPI_Barrier(W);
}

/* case openmp_threads_compute ranks=2 */
static void openmp_threads_compute(void)
{
    double end = MPI_Wtime() + 0.7;
    if (rank == 0)
#pragma omp parallel num_threads(2)
        while (omp_get_wtime() > 0 && MPI_Wtime() < end) continue;
    MPI_Barrier(W);
}

static const struct the_case all[] = {
    {"openmp_thread_sleeps", openmp_thread_sleeps},
    {"openmp_threads_compute", openmp_threads_compute},
    {NULL, NULL},
};

int main(int argc, char **argv) { return run_case(all, argc, argv); }
