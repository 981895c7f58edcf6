/* What the recorder and the callers share: every function of MPI writes down its arguments, and stores numbers. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int answer;
extern int buffer_1[8], buffer_2[8], buffer_3[8];
void expect(const char *name);
int is_called(const char *name);
void show(int at, long value);
void show_words(int at, const int *words, int count);
void show_text(int at, const char *text, int length);
void fill(int *words, int first, int count);
void record(int at, long value);
void record_words(int at, const int *words, int count);
void record_buffer(int at, const void *buffer);
void record_text(int at, const char *text);
void record_texts(int at, char **texts, int is_deep);
void end_of_record(void);

/* Handles that are no predefined ones are above what an integer can be. */
#define handle_of(number) ((void *)((number) < 0 ? (intptr_t)0x700000000000 - (number) : (intptr_t)(number)))
#define number_of(handle) ((intptr_t)(handle) > 0x700000000000 ? -(long)((intptr_t)(handle)-0x700000000000) : (long)(intptr_t)(handle))
