"""Writes a C program that calls every exported procedure with words that are no handles, in each handle argument.

The words: zero, one, minus one, small and random ones, handles of all other kinds, predefined, null and live, freed ones, and live ones
with a bit changed. No call may crash or hang, and each must give the class of its argument's kind. The program prints a
line before each call, so one that crashes or hangs is known, and a line for each wrong answer.
"""
import json
import re

from wrong_arguments import FREED, HANDLES, NULL, PROGRAM, ROOT, Parameter, load

# These end the program whatever they are given.
WITHOUT = {"MPI_Abort", "MPI_Finalize", "MPI_Init", "MPI_Init_thread", "MPI_Pcontrol"}

# Handles of the tool information interface have no class of their own.
TOOL_HANDLES = {"CVAR": "MPI_T_cvar_handle", "PVAR": "MPI_T_pvar_handle", "PVAR_SESSION": "MPI_T_pvar_session",
                "TOOLS_ENUM": "MPI_T_enum", "EVENT_REGISTRATION": "MPI_T_event_registration",
                "EVENT_INSTANCE": "MPI_T_event_instance"}

# How many elements are looked at of an array of handles whose length is an argument.
LENGTH = 4

# Words no procedure can know, by name. `random` is the program's generator.
WORDS = ["0", "1", "-1", "2", "3", "255", "4095", "4096", "4097", "INT_MAX", "INT_MIN", "LLONG_MAX", "LLONG_MIN",
         "(long long)buffer", "(long long)&comm", "(long long)buffer + 1"]

SWEEP = r"""
#include <limits.h>
enum { LIVE, FREED_ONE, ANY };
struct word { long long word; const char *kind; int is; };
static struct word words_of[4000];
static int count;

static void add_word(long long word, const char *kind, int is) {
  words_of[count].word = word, words_of[count].kind = kind, words_of[count++].is = is;
}

static unsigned long long state;
static long long random_word(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (long long)(state * 2685821657736338717ull);
}

static void gather(void) {
@WORDS@
  for (int i = 0; i < 12; i++) add_word(random_word(), "", ANY);
  for (int i = 0; i < 8; i++) add_word((int)random_word(), "", ANY);
  int live = count;
  for (int i = 0; i < live; i++)
    if (words_of[i].is == LIVE && words_of[i].word >= 4096)
      for (int bit = 13; bit < 64; bit += 5) add_word(words_of[i].word ^ 1ll << bit, words_of[i].kind, ANY);
}

// What `prepare` makes, of what is always there: for calls before anything was made or freed.
static void prepare_nothing(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  comm = grid = graph = adjacent = MPI_COMM_SELF;
  vector = uncommitted = MPI_INT;
  operation = MPI_SUM, info = MPI_INFO_ENV;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  persistent = generalized = MPI_REQUEST_NULL;
}

struct callee { int (*call)(long long); const char *kind; int class; };
static const struct callee callees[] = {
@CALLEES@
};

int main(int argc, char **argv) {
  int first = atoi(argv[1]), second = atoi(argv[2]);
  int is_first = !strcmp(argv[4], "first");
  state = strtoull(argv[3], NULL, 10) * 2 + 1;
  MPI_Init(&argc, &argv);
  if (is_first) prepare_nothing();
  else prepare();
  gather();
  for (int i = first; i < (int)(sizeof(callees) / sizeof(callees[0])); i++)
    for (int j = i == first ? second : 0; j < count; j++) {
      const struct callee *callee = &callees[i];
      const struct word *word = &words_of[j];
      int is_own = !strcmp(word->kind, callee->kind);
      if (word->is == LIVE && is_own) continue;
      // Low words may be predefined.
      int known = 0;
      for (int k = 0; k < count; k++)
        known |= words_of[k].word == word->word && words_of[k].is == LIVE && !strcmp(words_of[k].kind, callee->kind);
      if (known) continue;
      printf("begin %d %d %#llx\n", i, j, (unsigned long long)word->word);
      fflush(stdout);
      int code = callee->call(word->word), class = -1, length;
      if (callee->class < 0 || (is_first && code)) continue;
      MPI_Error_class(code, &class);
      if (class == callee->class) continue;
      char text[MPI_MAX_ERROR_STRING] = "no error";
      if (code) MPI_Error_string(code, text, &length);
      for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
      printf("bad %d %d %#llx %s\n", i, j, (unsigned long long)word->word, text);
    }
  printf("done %d\n", count);
  fflush(stdout);
  MPI_Session_finalize(&session);
  MPI_Finalize();
  return 0;
}
"""


def predefined():
    """Yields (C type, name) of all predefined handles, those that are null included."""
    text = (ROOT / "include/mpi.h").read_text()
    for name, kind in re.findall(r"#define (MPI_\w+)\s+\(\((MPI_[A-Z][a-z]+)\)0x", text):
        if kind in NULL:
            yield kind, name


def words():
    """Returns the C statements that gather the words."""
    lines = [f'add_word({word}, "", ANY);' for word in WORDS]
    lines += [f'add_word((long long){name}, "{kind}", LIVE);' for kind, name in predefined()]
    for handle, value, _ in HANDLES.values():
        if not value.startswith("MPI_"):
            lines.append(f'add_word((long long){value}, "{handle}", LIVE);')
    lines += [f'add_word((long long){value}, "{handle}", LIVE);'
              for handle, value in [("MPI_Datatype", "vector"), ("MPI_Datatype", "uncommitted"), ("MPI_Comm", "grid"),
                                    ("MPI_Request", "generalized"), ("MPI_Op", "operation")]]
    lines += [f'add_word((long long){value}, "{handle}", FREED_ONE);' for handle, value in FREED.items()]
    return "\n".join("  " + line for line in lines)


def calls(names=None):
    """Yields (title, C type of the handle, C call with `word`, class or -1 for any) for each handle argument."""
    done = load()
    for procedure in json.loads((ROOT / "api/procedures.json").read_text()):
        name = procedure["name"]
        if name in WITHOUT or (names and name not in names):
            continue
        is_done = name in done
        for large in [False, True] if procedure.get("large") else [False]:
            parameters = [Parameter(p, large) for p in procedure["parameters"]]
            parameters = [p for p in parameters if p.exists and p.c != "..."]
            for wrong in parameters:
                if wrong.direction == "out" or wrong.kind not in HANDLES and wrong.kind not in TOOL_HANDLES:
                    continue
                handle, error = TOOL_HANDLES.get(wrong.kind), "-1"
                if not handle:
                    handle, _, error = HANDLES[wrong.kind]
                is_checked = is_done and "_T_" not in name and not re.search(r"_(c2f|toint)$", name)
                # There is no window and no file yet whose right handle could stand beside it.
                is_checked &= all(p is wrong or p.kind not in ("WINDOW", "FILE") or p.direction == "out" for p in parameters)
                for place, value in places(wrong, name, handle):
                    arguments = [value if p is wrong else right(p, name, place) for p in parameters]
                    form = name + ("_c" if large else "")
                    yield (f"{form} {wrong.name}{place}", handle, f"{form}({', '.join(arguments)})",
                           error if is_checked else "-1")


def places(parameter, procedure, handle):
    """Yields where the word stands among an argument's handles, and the argument."""
    word = f"({handle})word"
    if not parameter.array:
        yield "", f"&({handle}){{{word}}}" if parameter.pointer else word
        return
    fill = NULL[handle] if handle == "MPI_Request" else parameter.handle_value(procedure, HANDLES[parameter.kind][1])
    last = LENGTH - 1 if has_length(procedure) else 0
    for index in sorted({0, last}):
        yield f"[{index}]", f"({handle}[]){{{', '.join(word if i == index else fill for i in range(LENGTH))}}}"


def has_length(procedure):
    """Tells whether an array's length is an argument of the procedure; else it is the communicator's size, 1."""
    return re.match(r"MPI_(Wait|Test|Start|Request_get_status|Type_create_struct)", procedure)


def right(parameter, procedure, place):
    """Returns a right argument beside a handle at a place of an array."""
    if place and has_length(procedure) and (parameter.kind.startswith("ARRAY_LENGTH") or parameter.name == "count"):
        return str(LENGTH)
    if parameter.kind in TOOL_HANDLES:
        value = f"({parameter.base()})0"
        return f"&({parameter.base()}){{{value}}}" if parameter.pointer else value
    return parameter.right(procedure)


def program(table):
    """Returns the source of the program."""
    session = "  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);\n  MPI_Op_create(add, 1, &operation);"
    head = PROGRAM[:PROGRAM.index("static void report(")].replace("@SESSION@", session)
    head = head.replace("static MPI_Op freed_op;", "static MPI_Op freed_op, operation;")
    functions = "".join(f"static int call_{i}(long long word) {{ return (int)(long long){call}; }}\n"
                        for i, (_, _, call, _) in enumerate(table))
    rows = "\n".join(f'  {{call_{i}, "{handle}", {error}}},' for i, (_, handle, _, error) in enumerate(table))
    return head + functions + SWEEP.replace("@WORDS@", words()).replace("@CALLEES@", rows)
