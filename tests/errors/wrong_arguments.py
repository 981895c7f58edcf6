"""Writes a C program that calls every finished procedure with one argument wrong at a time, the others right.

What is wrong with an argument, and which error class that must give, follows from the kind and type that
api/procedures.json gives it. The program prints, for each case, a line before the call and one with the code and the
text of MPI_Error_string after it, so a case that crashes or hangs is known by its name.
"""
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Nothing is wrong with any argument of these: they look at nothing, or end the program.
WITHOUT = re.compile(r"MPI_(Init|Init_thread|Finalize|Abort|Pcontrol|Wtime|Wtick|Aint_\w+|\w+_(c2f|f2c|toint|fromint)|"
                     r"Status_(c2f08|f082c|f082f|f2f08)|T_\w+)$")

# Kind of parameter: C type of the handle, right value, error class.
HANDLES = {
    "COMMUNICATOR": ("MPI_Comm", "comm", "MPI_ERR_COMM"),
    "DATATYPE": ("MPI_Datatype", "MPI_INT", "MPI_ERR_TYPE"),
    "OPERATION": ("MPI_Op", "MPI_SUM", "MPI_ERR_OP"),
    "GROUP": ("MPI_Group", "group", "MPI_ERR_GROUP"),
    "REQUEST": ("MPI_Request", "persistent", "MPI_ERR_REQUEST"),
    "MESSAGE": ("MPI_Message", "MPI_MESSAGE_NO_PROC", "MPI_ERR_REQUEST"),
    "INFO": ("MPI_Info", "info", "MPI_ERR_INFO"),
    "ERRHANDLER": ("MPI_Errhandler", "MPI_ERRORS_RETURN", "MPI_ERR_ERRHANDLER"),
    "SESSION": ("MPI_Session", "session", "MPI_ERR_SESSION"),
    "WINDOW": ("MPI_Win", "MPI_WIN_NULL", "MPI_ERR_WIN"),
    "FILE": ("MPI_File", "MPI_FILE_NULL", "MPI_ERR_FILE"),
}
NULL = {"MPI_Comm": "MPI_COMM_NULL", "MPI_Datatype": "MPI_DATATYPE_NULL", "MPI_Op": "MPI_OP_NULL",
        "MPI_Group": "MPI_GROUP_NULL", "MPI_Request": "MPI_REQUEST_NULL", "MPI_Message": "MPI_MESSAGE_NULL",
        "MPI_Info": "MPI_INFO_NULL", "MPI_Errhandler": "MPI_ERRHANDLER_NULL", "MPI_Session": "MPI_SESSION_NULL",
        "MPI_Win": "MPI_WIN_NULL", "MPI_File": "MPI_FILE_NULL"}
# Variables of the program that hold handles which were freed.
FREED = {"MPI_Comm": "freed_comm", "MPI_Datatype": "freed_type", "MPI_Op": "freed_op", "MPI_Group": "freed_group",
         "MPI_Request": "freed_request", "MPI_Info": "freed_info", "MPI_Errhandler": "freed_errhandler"}

# Right values of other kinds, where 1 is not one.
VALUES = {"RANK": "0", "RANK_NNI": "0", "TAG": "0", "THREAD_LEVEL": "MPI_THREAD_SINGLE", "COLOR": "0", "KEY": "0",
          "SPLIT_TYPE": "MPI_COMM_TYPE_SHARED", "ERROR_CLASS": "MPI_ERR_ARG", "ERROR_CODE": "MPI_ERR_ARG",
          "ORDER": "MPI_ORDER_C", "INDEX": "0", "POLYDISPLACEMENT": "0", "PARTITION": "0"}

NEGATIVE_COUNT = ("POLYXFER_NUM_ELEM_NNI", "XFER_NUM_ELEM_NNI", "POLYXFER_NUM_ELEM", "POLYDTYPE_NUM_ELEM_NNI")
NEGATIVE_LENGTH = ("ARRAY_LENGTH", "ARRAY_LENGTH_NNI", "ARRAY_LENGTH_PI")

# Right values of single parameters.
NAMED_VALUES = {"outsize": "4096", "insize": "4096", "partitions": "1", "ranges": "(int[][3]){{0, 0, 1}}",
                "array_of_distribs": "(int[]){MPI_DISTRIBUTE_NONE}", "max_integers": "16", "max_datatypes": "16",
                "datarep": '"external32"', "array_of_dargs": "(int[]){MPI_DISTRIBUTE_DFLT_DARG}", "array_of_psizes": "(int[]){1}",
                "array_of_commands": '(char *[]){"no-such-program"}'}

# Communicators with what the procedures need.
COMMUNICATORS = [("MPI_Cart(?!_create|_map)", "grid"), ("MPI_Graph(?!_create|_map)", "graph"),
                 ("MPI_Dist_graph_neighbors", "adjacent"), ("MPI_I?[Nn]eighbor", "grid")]

# What has to be done after a call that succeeded all the same.
AFTERWARDS = {"MPI_Session_init": "if (!code) MPI_Session_finalize((MPI_Session *)words);"}

# Where the standard gives a wrong-looking argument a meaning, or another class: (procedure, parameter, what is wrong)
# as a pattern, and the class; SUCCESS means that the call may succeed.
EXCEPTIONS = [
    # There is only one rank, and the groups must not have it both.
    (r"MPI_Intercomm_create_from_groups info null", "SKIP"),
    # There is no such program, port or name; MPI_ARGV_NULL, MPI_ARGVS_NULL and MPI_ERRCODES_IGNORE are null.
    (r"MPI_(Comm_accept|Comm_connect|Lookup_name) info null", "SKIP"),
    (r"MPI_Comm_spawn(_multiple)? (info null|array_of_info null|argv absent|array_of_argv absent|array_of_errcodes absent)",
     "SKIP"),
    # A null request is complete; only some calls refuse it.
    (r"MPI_(Wait|Test|Request_get_status)\w* array_of_requests null|MPI_(Wait|Test|Request_get_status) request null",
     "SUCCESS"),
    # What else is passed is right only for its kind: amode is no mode, and no file has the name.
    (r"MPI_File_(open|delete) info null", "SKIP"),
    # MPI_INFO_NULL is an empty set of hints, except for what works on the info object itself.
    (r"MPI_(?!Info_|Abi_)\w+ info null", "SUCCESS"),
    # Nothing is looked at for want of a use, or any value will do.
    (r"MPI_Parrived request null|MPI_(Waitsome|Testsome|Request_get_status_some) array_of_indices absent", "SUCCESS"),
    (r"MPI_Status_set_(source source|tag tag) .*|MPI_I?[Ee]xscan(_init)? recvbuf absent|MPI_Free_mem base absent|"
     r"MPI_Get_address location absent|MPI_File_(get|set|call)_errhandler (fh|file) null",
     "SUCCESS"),
    (r"MPI_Info_get_string value absent|MPI_Type_get_contents array_of_(addresses|large_counts) absent|"
     r"MPI_Type_get_envelope num_large_counts absent|MPI_Session_get_nth_pset pset_name absent", "SUCCESS"),
    # The length of a block, a coordinate: no number of elements to communicate.
    (r"MPI_Type_\w+ (array_of_blocklengths|blocklength|array_of_starts|rank) (negative|too large)", "MPI_ERR_ARG"),
    (r"MPI_Comm_get_name comm null|MPI_Type_get_name datatype null|MPI_Win_get_name win null", "SUCCESS"),
]


def load():
    """Returns the finished procedures, by name, with the module that carries each out."""
    done = {}
    for path in sorted((ROOT / "api/done").rglob("*.txt")):
        for line in path.read_text().split("\n"):
            if line.strip() and not line.startswith("#"):
                done[line.strip()] = path.stem
    procedures = json.loads((ROOT / "api/procedures.json").read_text())
    return {p["name"]: (p, done[p["name"]]) for p in procedures if p["name"] in done}


class Parameter:
    """A parameter in one form of a procedure, with its right value and the ways to get it wrong."""

    def __init__(self, entry, large):
        self.name = entry["name"]
        self.kind = entry["kind"]
        self.direction = entry.get("direction", "in")
        self.c = entry.get("large", entry.get("c")) if large else entry.get("c")
        self.exists = self.c is not None
        self.array = self.exists and "[" in self.c
        self.pointer = self.exists and (self.c.endswith("*") and not self.c.endswith("function *"))

    def right(self, procedure):
        """Returns an expression for a value nothing is wrong with."""
        if self.name in NAMED_VALUES:
            return NAMED_VALUES[self.name]
        if self.kind in HANDLES and self.direction != "out":
            handle, value, _ = HANDLES[self.kind]
            value = self.handle_value(procedure, value)
            if self.array:
                return f"({handle}[]){{{value}, {value}, {value}, {value}}}"
            return f"&({handle}){{{value}}}" if self.pointer else value
        if self.kind == "KEYVAL":
            value = "type_keyval" if "Type" in procedure else "win_keyval" if "Win" in procedure else "keyval"
            return f"&(int){{{value}}}" if self.pointer else value
        if self.kind == "BUFFER":
            return "buffer" if self.direction == "in" else "space"
        if self.kind in ("STRING",) and self.direction == "in":
            return '"text"'
        if self.kind == "STATUS" and self.direction != "out":
            return "&empty"
        if "function" in self.c:
            return f"({self.c}{'' if self.pointer or '*' in self.c else ' *'})function"
        if self.array and (self.kind in NEGATIVE_COUNT or "sizes" in self.name
                           or self.kind in ("INDEX", "DEGREE") and self.direction == "in"):
            return f"({self.base()}[]){{1, 1, 1, 1}}"
        if self.array or self.pointer:
            if self.direction == "inout":
                return f"({self.base()}[]){{0, 0, 0, 0}}"
            return "(void *)zeros" if self.direction == "in" else "(void *)scratch()"
        return VALUES.get(self.kind, "1")

    def handle_value(self, procedure, value):
        if self.kind == "REQUEST" and "Grequest" in procedure:
            return "generalized"
        if self.kind == "COMMUNICATOR":
            return next((comm for pattern, comm in COMMUNICATORS if re.match(pattern, procedure)), value)
        return "vector" if procedure == "MPI_Type_get_contents" else value

    def base(self):
        return self.c.replace("const ", "").replace("[]", "").replace("*", "").strip()

    def wrong(self, procedure):
        """Yields (what is wrong, expression, class)."""
        if self.kind in HANDLES and self.direction != "out":
            yield from self.wrong_handles(procedure)
        elif self.kind == "KEYVAL" and self.direction != "out":
            for what, value in [("invalid", "MPI_KEYVAL_INVALID"), ("unknown", "7777777"), ("freed", "freed_keyval")]:
                yield what, f"&(int){{{value}}}" if self.pointer else value, "MPI_ERR_KEYVAL"
        elif self.kind == "TAG" and self.direction == "in":
            yield "negative", "-7", "MPI_ERR_TAG"
        elif self.kind in ("RANK", "RANK_NNI") and self.c == "int" and self.direction == "in":
            error = "MPI_ERR_ROOT" if self.name == "root" else "MPI_ERR_RANK"
            yield "too large", "1000000", error
            yield "negative", "-77", error
        elif self.kind in NEGATIVE_COUNT and self.direction == "in" and not self.array:
            yield "negative", "-1", "MPI_ERR_COUNT"
        elif self.kind in NEGATIVE_COUNT and self.direction == "in":
            yield "negative", f"({self.base()}[]){{-1, -1, -1, -1}}", "MPI_ERR_COUNT"
            yield "absent", "NULL", "MPI_ERR_ARG"
        elif self.kind in NEGATIVE_LENGTH and self.direction == "in" and not self.array:
            yield "negative", "-1", "MPI_ERR_ARG"
        elif self.kind == "BUFFER":
            if "attach" not in procedure:
                yield "absent", "NULL", "MPI_ERR_BUFFER"
        elif self.kind == "STATUS":
            if self.direction != "out":
                yield "absent", "NULL", "MPI_ERR_ARG"
        elif self.kind == "STRING" and self.direction == "in":
            yield "absent", "NULL", "MPI_ERR_ARG"
        elif self.kind.startswith("ATTRIBUTE_VAL") or self.kind.startswith("EXTRA_STATE") or "function" in self.c:
            return
        elif (self.array or self.pointer) and self.kind not in ("LOCATION", "ARGUMENT_LIST", "ARGUMENT_COUNT"):
            yield "absent", "NULL", "MPI_ERR_ARG"

    def wrong_handles(self, procedure):
        handle, value, error = HANDLES[self.kind]
        other = "comm" if handle != "MPI_Comm" else "vector"
        named = "MPI_INT" if handle != "MPI_Datatype" else "MPI_COMM_WORLD"
        wrong = [("null", NULL[handle]), ("zero", f"({handle})0"), ("garbage", f"({handle})buffer"),
                 ("of another kind", f"({handle}){other}"), ("predefined of another kind", f"({handle}){named}"),
                 ("beyond the last", f"({handle})((char *){self.handle_value(procedure, value)} + 12345)")]
        if handle in FREED:
            wrong.append(("freed", FREED[handle]))
        if handle == "MPI_Datatype" and self.used_for_data(procedure):
            wrong.append(("uncommitted", "uncommitted"))
        for what, value in wrong:
            if self.array:
                yield what, f"({handle}[]){{{value}, {value}, {value}, {value}}}", error
            elif self.pointer:
                yield what, f"&({handle}){{{value}}}", error
            else:
                yield what, value, error
        if self.array or self.pointer:
            yield "absent", "NULL", "MPI_ERR_ARG"

    @staticmethod
    def used_for_data(procedure):
        return not re.match(r"MPI_(Type|Get_(count|elements)|Status|Pack_(external_)?size|Op)", procedure)


def cases(names=None):
    """Yields (name, procedure, parameter, C call, class expected or SUCCESS)."""
    for name, (procedure, _) in sorted(load().items()):
        if WITHOUT.match(name) or (names and name not in names):
            continue
        forms = [False, True] if procedure.get("large") else [False]
        for large in forms:
            call = name + ("_c" if large else "")
            parameters = [Parameter(p, large) for p in procedure["parameters"]]
            parameters = [p for p in parameters if p.exists]
            only = [p for p in parameters if p.kind in ("WINDOW", "FILE") and p.direction != "out"]
            for wrong in only or parameters:
                for what, value, error in wrong.wrong(name):
                    arguments = [value if p is wrong else p.right(name) for p in parameters]
                    title = f"{call} {wrong.name} {what}"
                    plain = f"{name} {wrong.name} {what}"
                    expected = next((e for pattern, e in EXCEPTIONS if re.fullmatch(pattern, plain)), error)
                    if expected == "SKIP":
                        continue
                    yield title, call, wrong.name, f"{call}({', '.join(arguments)})", expected


PROGRAM = r"""// Written by tests/errors/wrong_arguments.py; see there.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[4096], space[4096];
static long long zeros[512];
static MPI_Comm comm, freed_comm, grid, graph, adjacent;
static MPI_Datatype vector, uncommitted, freed_type;
static MPI_Op freed_op;
static MPI_Group group, freed_group;
static MPI_Request persistent, generalized, freed_request;
static MPI_Info info, freed_info;
static MPI_Errhandler freed_errhandler;
static MPI_Session session = MPI_SESSION_NULL;
static MPI_Status empty;
static int keyval, type_keyval, win_keyval, freed_keyval;

static long long words[2048];
static void *scratch(void) {
  memset(words, 0, sizeof(words));
  return words;
}

static int function() { return MPI_SUCCESS; }
static void on_error(MPI_Comm *c, int *code, ...) { (void)c, (void)code; }
static void add(void *in, void *out, int *n, MPI_Datatype *type) { (void)in, (void)out, (void)n, (void)type; }

static void prepare(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm copy;
  MPI_Comm_dup(comm, &copy), freed_comm = copy, MPI_Comm_free(&copy);
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector), MPI_Type_commit(&vector);
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type), freed_type = type, MPI_Type_free(&type);
  MPI_Op op;
  MPI_Op_create(add, 1, &op), freed_op = op, MPI_Op_free(&op);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group members;
  MPI_Comm_group(MPI_COMM_WORLD, &members), freed_group = members, MPI_Group_free(&members);
  MPI_Recv_init(space, 1, MPI_INT, 0, 0, comm, &persistent);
  MPI_Grequest_start((MPI_Grequest_query_function *)function, (MPI_Grequest_free_function *)function,
                     (MPI_Grequest_cancel_function *)function, NULL, &generalized);
  MPI_Request request;
  MPI_Recv_init(space, 1, MPI_INT, 0, 0, comm, &request), freed_request = request, MPI_Request_free(&request);
  MPI_Info_create(&info), MPI_Info_set(info, "text", "value");
  MPI_Info object;
  MPI_Info_create(&object), freed_info = object, MPI_Info_free(&object);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_error, &handler), freed_errhandler = handler, MPI_Errhandler_free(&handler);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_keyval, NULL);
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  freed_keyval = key, MPI_Comm_free_keyval(&key);
  MPI_Status_set_elements(&empty, MPI_INT, 1);
  int one[1] = {1}, zero[1] = {0};
  MPI_Cart_create(comm, 1, one, one, 0, &grid);
  MPI_Graph_create(comm, 1, one, zero, 0, &graph);
  MPI_Dist_graph_create_adjacent(comm, 1, zero, one, 1, zero, one, MPI_INFO_NULL, 0, &adjacent);
@SESSION@
}

static void report(int number, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int class = -1, length;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  for (char *c = text; *c; c++)
    if (*c == '\n') *c = ' ';
  printf("end %d %d %s\n", number, class, text);
  fflush(stdout);
}

@FUNCTIONS@
static int (*const calls[])(void) = {@TABLE@};

int main(int argc, char **argv) {
  int first = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Init(&argc, &argv);
  prepare();
  for (int i = first; i < (int)(sizeof(calls) / sizeof(calls[0])); i++) {
    printf("begin %d\n", i);
    fflush(stdout);
    report(i, calls[i]());
  }
@END@  MPI_Finalize();
  return 0;
}
"""


def program(table):
    """Returns the source of a program with these cases."""
    session = end = ""
    if "MPI_Session_init" in load():
        session = "  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);"
        end = "  MPI_Session_finalize(&session);\n"
    functions = "".join(f"static int call_{i}(void) {{ int code = {call}; {AFTERWARDS.get(name, '')} return code; }}\n"
                        for i, (_, name, _, call, _) in enumerate(table))
    names = ", ".join(f"call_{i}" for i in range(len(table)))
    text = PROGRAM.replace("@FUNCTIONS@", functions).replace("@TABLE@", names)
    return text.replace("@SESSION@", session).replace("@END@", end)
