// A tool that counts sends in a variable of its own, and says at the end how many there were. With -DNEXT it asks for the next
// MPI_Send instead of calling PMPI_Send.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#ifndef NAME
#define NAME "counter"
#endif

static int sends, made;
#ifdef THREAD
static __thread int own __attribute__((tls_model(THREAD)));
#endif

__attribute__((constructor)) static void make(void) { made++; }

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm) {
  sends++;
#ifdef THREAD
  own++;
#endif
#ifdef NEXT
  int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Send");
  return next(buffer, count, type, target, tag, comm);
#else
  return PMPI_Send(buffer, count, type, target, tag, comm);
#endif
}

__attribute__((destructor)) static void say(void) {
  extern int weft_test_rank __attribute__((weak));
  if (!&weft_test_rank) return; // mpirun has it preloaded, too.
  printf("%s: rank %d: %d sends, made %d\n", NAME, weft_test_rank, sends, made);
  fflush(stdout);
}
