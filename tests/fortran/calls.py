"""Writes programs that call every procedure: one in C, and one for each way of Fortran; and the recorder of what C gets."""
import json
import re

from arguments import KINDS, Argument

WAYS = {"mpif": "include 'mpif.h'", "mpi": "use mpi", "mpi_f08": "use mpi_f08"}
# What Fortran does by other functions than C's of the same name, or with other arguments: only Fortran's ways are compared.
NOT_AS_IN_C = re.compile(r"_create_keyval|Keyval_create|_[sg]et_attr|Attr_[gp]|_create_errhandler|Op_create|Grequest_start|Register_datarep|"
                         r"Info_get(_string)?$|Session_get_nth_pset|Comm_spawn")


class Call:
    """One form of a procedure."""

    def __init__(self, procedure, large):
        self.procedure, self.large = procedure, large
        self.name = procedure["name"] + ("_c" if large else "")
        self.returns = procedure.get("returns", "int")
        shown = [p for p in procedure["parameters"] if (p.get("c") or large and p.get("large")) and p.get("c") != "..."]
        self.arguments = [Argument(procedure, p, large, at) for at, p in enumerate(shown, 1)]
        self.in_fortran = [a for a in self.arguments if a.in_fortran]
        self.has_code = self.returns == "int" and self.name != "MPI_Pcontrol"

    def is_in(self, way):
        typed = any(a.role == "f08_status" for a in self.arguments)
        old = self.procedure.get("fortran") == "old"
        return not (way == "mpif" and typed) and (not self.large or way == "mpi_f08" and not old)

    def is_as_in_c(self):
        return not NOT_AS_IN_C.search(self.name)


def calls(api):
    """Lists every form of every procedure that Fortran has."""
    found = []
    for procedure in json.loads(api.read_text()):
        if procedure.get("fortran") == "none":
            continue
        plain = Call(procedure, False)
        found.append(plain)
        if procedure.get("large"):
            large = Call(procedure, True)
            kind = lambda call: [KINDS.get(a.base, a.base).replace("ADDRESS", "COUNT").replace("OFFSET", "COUNT") for a in call.arguments]
            # Where both forms look the same for Fortran there is one; functions of the user do not tell them apart.
            if kind(plain) != kind(large):
                found.append(large)
    return found


def c_function(call):
    """Returns the recorder's function of a form."""
    parameters = []
    for a in call.arguments:
        before, _, after = a.c.partition("[")
        parameters.append(f"{before}a{a.at}" + (f"[{after}" if after else "") if "*" in before or after else f"{before} a{a.at}")
    variadic = ", ..." if call.name == "MPI_Pcontrol" else ""
    records, stores = zip(*(a.recorded() for a in call.arguments)) if call.arguments else ((), ())
    answer = {"int": "return answer", "double": "return 2.5", "MPI_Aint": "return 12345678901"}[call.returns]
    return (f"{call.returns} P{call.name}({', '.join(parameters) or 'void'}{variadic}) {{\n"
            f"  if (!is_called(\"{call.name}\")) {{ {OTHERWISE.get(call.name, '')} return 0; }}\n"
            f"  {' '.join(records)} end_of_record();\n  if (answer == 0) {{ {' '.join(stores)} }}\n  {answer};\n}}\n")


# What the library asks on its way to another function.
OTHERWISE = {"MPI_Comm_size": "*a2 = 3;", "MPI_Comm_remote_size": "*a2 = 3;", "MPI_Comm_test_inter": "*a2 = 0;", "MPI_Comm_rank": "*a2 = 0;",
             "MPI_Topo_test": "*a2 = MPI_DIST_GRAPH;", "MPI_Dist_graph_neighbors_count": "*a2 = 3; *a3 = 3; *a4 = 0;"}


def recorder(all_calls):
    return '#include "recorder.h"\n' + "".join(c_function(call) for call in all_calls)


def c_program(all_calls):
    text = '#include "recorder.h"\n'
    for at, call in enumerate(all_calls):
        declared, passed, shown = zip(*(a.c_call() for a in call.arguments)) if call.arguments else ((), (), ())
        call_text = f"P{call.name}({', '.join(passed)})"
        if call.returns == "int":
            call_text = f"int code = {call_text}; show(0, code);" if call.has_code else f"{call_text};"
        else:
            call_text = f"show(0, (long)(2 * {call_text}));"
        text += f"static void call_{at}(void) {{\n  expect(\"{call.name}\");\n  {' '.join(declared)}\n  {call_text} {' '.join(shown)}\n}}\n"
    return text + "int main(void) {\n" + "".join(f"  call_{at}();\n" for at, call in enumerate(all_calls) if call.is_as_in_c()) + "  return 0;\n}\n"


def wrapped(line):
    """Breaks a line of Fortran."""
    text = ""
    while len(line) > 120:
        cut = line.rindex(", ", 0, 118) + 2
        text += line[:cut] + "&\n"
        line = "      " + line[cut:]
    return text + line + "\n"


def fortran_caller(call, at, way):
    # What was deprecated before module mpi_f08 came is there as in module mpi.
    f08 = way == "mpi_f08" and call.procedure.get("fortran") != "old"
    parts = [a.fortran_call(f08) for a in call.in_fortran]
    named = list(dict.fromkeys(declared for declared, *_ in parts if declared))
    text = f"  subroutine call_{at}()\n" + "".join(f"    {line}\n" for line in named)
    if call.has_code:
        text += "    integer :: ierror\n    ierror = -1\n"
    before = "".join(f"    {line}\n" for _, lines, _, _ in parts for line in lines)
    text += f"    call expect('{call.name}' // c_null_char)\n{before}"
    passed = ", ".join([argument for _, _, argument, _ in parts] + ["ierror"] * call.has_code)
    # Where only the user's procedure tells forms apart, names do.
    name = call.name if call.large and call.procedure["name"] in ("MPI_Op_create", "MPI_Register_datarep") else call.procedure["name"]
    if call.returns != "int":
        text += f"    call show(0, int(2 * {name}({passed}), 8))\n"
    else:
        text += wrapped(f"    call {name}({passed})")
    if call.has_code:
        text += "    call show(0, int(ierror, 8))\n"
    shown = "".join(f"    {line}\n" for *_, lines in parts for line in lines)
    text += shown
    if f08 and call.has_code:
        # Once more, without the error code.
        text += f"    call expect('{call.name}' // c_null_char)\n{before}" + wrapped(f"    call {name}({passed.removesuffix('ierror').removesuffix(', ')})") + shown
    return text + "  end subroutine\n"


def fortran_program(all_calls, way, undone):
    """Writes the callers of a way, and a program that calls all, or, if it is given a word, those of procedures that are not done."""
    used = f"  {WAYS[way]}\n" if way != "mpif" else ""
    included = f"  {WAYS[way]}\n" if way == "mpif" else ""
    text = f"module callers\n{used}  use, intrinsic :: iso_c_binding, only : c_ptr, c_null_ptr, c_null_char, c_loc\n  use recorder\n"
    text += f"  implicit none\n{included}contains\n"
    mine = [(at, call) for at, call in enumerate(all_calls) if call.is_in(way)]
    text += "".join(fortran_caller(call, at, way) for at, call in mine)
    for name, chosen in (("all_calls", mine), ("calls_not_done", [(at, call) for at, call in mine if call.name in undone])):
        text += f"  subroutine {name}()\n" + "".join(f"    call call_{at}()\n" for at, _ in chosen) + "  end subroutine\n"
    return text + ("end module\nprogram ways\n  use callers\n  implicit none\n  integer :: code\n  if (command_argument_count() == 0) then\n    call all_calls()\n"
                   "  else\n    call MPI_Init(code)\n    call use_predefined_handles()\n"
                   "    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)\n"
                   "    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)\n"
                   "    call calls_not_done()\n    call MPI_Finalize(code)\n  end if\nend program\n")
