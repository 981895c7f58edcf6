// A table of wrong calls: each row makes one and says which error class and which words of the message it must give.
#ifndef WEFT_ERRORS_TABLE_H
#define WEFT_ERRORS_TABLE_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Makes the call, which must fail with the class; the message must name the call and contain the words.
#define WRONG(words, class, ...)                     \
  do {                                               \
    row_begin(#__VA_ARGS__, words);                  \
    row_end(#class, class, (__VA_ARGS__));           \
  } while (0)

// Makes a call that looks wrong and must succeed all the same.
#define FINE(words, ...) WRONG(words, MPI_SUCCESS, __VA_ARGS__)

void row_begin(const char *call, const char *words);
void row_end(const char *class_name, int class, int code);

void point_to_point(void);
void requests(void);
void collectives(void);
void communicators(void);
void groups(void);
void topologies(void);
void datatypes(void);
void environment(void);
void handles(void);

// What many rows use.
extern int rank, size, ints[64], more[64], flag, number, position;
extern MPI_Status status, statuses[4];
extern MPI_Comm world;        // MPI_COMM_WORLD
extern MPI_Request request;   // null before and after each row
extern MPI_Datatype raw;      // not committed
extern MPI_Datatype vector;   // committed
extern char text[8192], long_text[8192];

#endif
