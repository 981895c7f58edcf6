// What reads `stdin` or prints to `stdout` or `stderr` without being told so: the calling rank's. In C, because these
// functions take any number of arguments.
//
// They stand in the copies' tables instead of libc's functions (`redirects.list`), under the same name with `rank_` before.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

FILE *weft_stream(int which);

#define IN weft_stream(0)
#define OUT weft_stream(1)
#define ERR weft_stream(2)

extern int __vfprintf_chk(FILE *, int, const char *, va_list);
extern int __vfwprintf_chk(FILE *, int, const wchar_t *, va_list);
extern int __isoc99_vfscanf(FILE *, const char *, va_list);
extern int __isoc99_vfwscanf(FILE *, const wchar_t *, va_list);
// In newer libcs only, and in them always, where a program needs them.
extern int __isoc23_vfscanf(FILE *, const char *, va_list) __attribute__((weak));
extern int __isoc23_vfwscanf(FILE *, const wchar_t *, va_list) __attribute__((weak));

// Printing and reading in one macro: `V` is the form with a list, `P` the other.
#define PAIR(P, V, type, stream_call)                          \
  int rank_##V(const type *format, va_list list) {             \
    return stream_call;                                        \
  }                                                            \
  int rank_##P(const type *format, ...) {                      \
    va_list list;                                              \
    va_start(list, format);                                    \
    int result = rank_##V(format, list);                       \
    va_end(list);                                              \
    return result;                                             \
  }

#define PAIR_CHECKED(P, V, type, stream_call)                  \
  int rank_##V(int flag, const type *format, va_list list) {   \
    return stream_call;                                        \
  }                                                            \
  int rank_##P(int flag, const type *format, ...) {            \
    va_list list;                                              \
    va_start(list, format);                                    \
    int result = rank_##V(flag, format, list);                 \
    va_end(list);                                              \
    return result;                                             \
  }

PAIR(printf, vprintf, char, vfprintf(OUT, format, list))
PAIR(wprintf, vwprintf, wchar_t, vfwprintf(OUT, format, list))
PAIR_CHECKED(__printf_chk, __vprintf_chk, char, __vfprintf_chk(OUT, flag, format, list))
PAIR_CHECKED(__wprintf_chk, __vwprintf_chk, wchar_t, __vfwprintf_chk(OUT, flag, format, list))
PAIR(scanf, vscanf, char, vfscanf(IN, format, list))
PAIR(wscanf, vwscanf, wchar_t, vfwscanf(IN, format, list))
PAIR(__isoc99_scanf, __isoc99_vscanf, char, __isoc99_vfscanf(IN, format, list))
PAIR(__isoc99_wscanf, __isoc99_vwscanf, wchar_t, __isoc99_vfwscanf(IN, format, list))
PAIR(__isoc23_scanf, __isoc23_vscanf, char, (__isoc23_vfscanf ? __isoc23_vfscanf : __isoc99_vfscanf)(IN, format, list))
PAIR(__isoc23_wscanf, __isoc23_vwscanf, wchar_t,
     (__isoc23_vfwscanf ? __isoc23_vfwscanf : __isoc99_vfwscanf)(IN, format, list))

int rank_puts(const char *text) {
  FILE *stream = OUT;
  flockfile(stream);
  int result = fputs_unlocked(text, stream) < 0 || putc_unlocked('\n', stream) == EOF ? EOF : (int)strlen(text) + 1;
  funlockfile(stream);
  return result;
}

int rank_putchar(int c) { return putc(c, OUT); }
int rank_putchar_unlocked(int c) { return putc_unlocked(c, OUT); }
wint_t rank_putwchar(wchar_t c) { return putwc(c, OUT); }
wint_t rank_putwchar_unlocked(wchar_t c) { return putwc_unlocked(c, OUT); }
int rank_getchar(void) { return getc(IN); }
int rank_getchar_unlocked(void) { return getc_unlocked(IN); }
wint_t rank_getwchar(void) { return getwc(IN); }
wint_t rank_getwchar_unlocked(void) { return getwc_unlocked(IN); }

// Reads a line of at most `room` bytes with its final zero; more than that is an overflow.
static char *line(char *text, size_t room) {
  FILE *stream = IN;
  size_t length = 0;
  int c;
  flockfile(stream);
  while ((c = getc_unlocked(stream)) != EOF && c != '\n') {
    if (length + 1 >= room) abort();
    text[length++] = (char)c;
  }
  int is_end = c == EOF && (length == 0 || ferror_unlocked(stream));
  funlockfile(stream);
  if (is_end) return NULL;
  text[length] = 0;
  return text;
}

char *rank_gets(char *text) { return line(text, (size_t)-1); }
char *rank___gets_chk(char *text, size_t room) { return line(text, room); }

void rank_perror(const char *text) {
  int error = errno;
  const char *begin = text && *text ? text : "", *colon = *begin ? ": " : "";
  errno = error;
  fprintf(ERR, "%s%s%m\n", begin, colon);
}

void rank_psignal(int signal, const char *text) {
  const char *begin = text && *text ? text : "", *colon = *begin ? ": " : "";
  fprintf(ERR, "%s%s%s\n", begin, colon, strsignal(signal));
}

// `err.h`

// Prints a message in one piece, so that those of several ranks do not mix: what stands before it, the caller's text, and
// what an error number means, if there is one.
static void print(const char *before, const char *format, va_list list, const char *after) {
  FILE *stream = ERR;
  char *text = NULL;
  if (format && vasprintf(&text, format, list) < 0) text = NULL;
  fprintf(stream, "%s%s%s\n", before, text ? text : "", after);
  free(text);
}

static void warn_of(int error, const char *format, va_list list) {
  char before[4096], after[256] = "";
  snprintf(before, sizeof before, "%s: ", program_invocation_short_name);
  errno = error;
  if (error >= 0) snprintf(after, sizeof after, "%s%m", format ? ": " : "");
  print(before, format, list, after);
}

extern void exit(int) __attribute__((noreturn));

void rank_vwarn(const char *format, va_list list) { warn_of(errno, format, list); }
void rank_vwarnx(const char *format, va_list list) { warn_of(-1, format, list); }
void rank_verr(int code, const char *format, va_list list) {
  warn_of(errno, format, list);
  exit(code);
}
void rank_verrx(int code, const char *format, va_list list) {
  warn_of(-1, format, list);
  exit(code);
}

#define WARNING(name, error)               \
  void rank_##name(const char *format, ...) { \
    va_list list;                          \
    va_start(list, format);                \
    warn_of(error, format, list);          \
    va_end(list);                          \
  }
#define ENDING(name, error)                          \
  void rank_##name(int code, const char *format, ...) { \
    va_list list;                                    \
    va_start(list, format);                          \
    warn_of(error, format, list);                    \
    va_end(list);                                    \
    exit(code);                                      \
  }
WARNING(warn, errno)
WARNING(warnx, -1)
ENDING(err, errno)
ENDING(errx, -1)

// `error.h`

extern unsigned error_message_count;
extern void (*error_print_progname)(void);

static void report(int code, int error, const char *file, unsigned at, const char *format, va_list list) {
  char before[8192] = "", after[256] = "";
  size_t length = 0;
  fflush(OUT);
  if (error_print_progname) error_print_progname();
  else length = (size_t)snprintf(before, sizeof before / 2, file ? "%s:" : "%s: ", program_invocation_name);
  if (length > sizeof before / 2) length = sizeof before / 2 - 1;
  if (file) snprintf(before + length, sizeof before - length, "%s:%u: ", file, at);
  errno = error;
  if (error) snprintf(after, sizeof after, ": %m");
  print(before, format, list, after);
  __atomic_fetch_add(&error_message_count, 1, __ATOMIC_RELAXED);
  fflush(ERR);
  if (code) exit(code);
}

void rank_error(int code, int error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  report(code, error, NULL, 0, format, list);
  va_end(list);
}

void rank_error_at_line(int code, int error, const char *file, unsigned at, const char *format, ...) {
  va_list list;
  va_start(list, format);
  report(code, error, file, at, format, list);
  va_end(list);
}

// `assert.h`

static void fail(const char *what, const char *file, unsigned at, const char *function) {
  FILE *stream = ERR;
  fprintf(stream, "%s: %s:%u: %s%s%s\n", program_invocation_short_name, file, at, function ? function : "",
          function ? ": " : "", what);
  fflush(stream);
  abort();
}

void rank___assert_fail(const char *text, const char *file, unsigned at, const char *function) {
  char what[4096];
  snprintf(what, sizeof what, "Assertion `%s' failed.", text);
  fail(what, file, at, function);
}

void rank___assert_perror_fail(int error, const char *file, unsigned at, const char *function) {
  char what[256];
  errno = error;
  snprintf(what, sizeof what, "Unexpected error: %m.");
  fail(what, file, at, function);
}

void rank___assert(const char *text, const char *file, int at) {
  rank___assert_fail(text, file, (unsigned)at, NULL);
}

// To a descriptor

int rank_number(int number);

int rank_vdprintf(int fd, const char *format, va_list list) { return vdprintf(rank_number(fd), format, list); }

int rank_dprintf(int fd, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vdprintf(rank_number(fd), format, list);
  va_end(list);
  return result;
}

extern int __vdprintf_chk(int, int, const char *, va_list);

int rank___vdprintf_chk(int fd, int flag, const char *format, va_list list) {
  return __vdprintf_chk(rank_number(fd), flag, format, list);
}

int rank___dprintf_chk(int fd, int flag, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = __vdprintf_chk(rank_number(fd), flag, format, list);
  va_end(list);
  return result;
}
