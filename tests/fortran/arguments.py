"""What the calls of all procedures pass, and what comes back: argument by argument, for C and for each way of Fortran.

A number that is passed tells which argument, and which element of an array, it is; so does a number that the recorder stores.
Arrays have three elements. Handles are negative numbers in half of the cases, which the library has C convert.
"""
import re

HANDLES = {"MPI_Comm": "Comm", "MPI_Datatype": "Type", "MPI_Errhandler": "Errhandler", "MPI_File": "File", "MPI_Group": "Group",
           "MPI_Info": "Info", "MPI_Message": "Message", "MPI_Op": "Op", "MPI_Request": "Request", "MPI_Session": "Session",
           "MPI_Win": "Win"}
# How many elements an array has.
COUNT = 3
# Where numbers that are stored begin.
STORED = 7000
STATUS_WORDS = 8
# As what the address of a detached buffer is shown, which module mpi and mpif.h do not tell.
DETACHED = 99
KINDS = {"MPI_Aint": "integer(kind=MPI_ADDRESS_KIND)", "MPI_Count": "integer(kind=MPI_COUNT_KIND)",
         "MPI_Offset": "integer(kind=MPI_OFFSET_KIND)"}


class Argument:
    """A parameter of one form of a procedure; `at` counts from one."""

    def __init__(self, procedure, parameter, large, at):
        self.procedure, self.at, self.name = procedure, at, parameter["name"].lower()
        self.c = parameter.get("large", parameter.get("c")) if large else parameter.get("c")
        self.kind, self.direction = parameter["kind"], parameter.get("direction", "in")
        self.is_in, self.is_out = self.direction != "out", self.direction != "in"
        self.in_fortran = parameter.get("fortran", True)
        base = self.c.replace("const ", "")
        self.base = re.match(r"\w+", base)[0]
        self.is_array = base.endswith("]")
        self.is_pointer = base.endswith("*")
        self.role = self.find_role()
        # Fortran's own array of handles, texts and the like is called so.
        self.variable = f"a{at}"

    def find_role(self):
        kind = self.kind
        if self.base in HANDLES:
            return "handle"
        if kind in ("BUFFER", "STATUS", "F08_STATUS", "F90_STATUS", "LOGICAL_VOID"):
            return kind.lower()
        if kind in ("C_BUFFER", "C_BUFFER2"):
            return "address"
        if kind == "STRING":
            return "text"
        if kind in ("STRING_ARRAY", "STRING_2DARRAY"):
            return "texts"
        if kind in ("FUNCTION", "POLYFUNCTION"):
            return "function"
        if kind == "LOGICAL":
            return "logical"
        if kind.startswith(("EXTRA_STATE", "ATTRIBUTE_VAL")):
            return "word"
        return "number"

    @property
    def count(self):
        return COUNT if self.is_array else 1

    def is_length(self):
        """Tells whether it says how long another argument is."""
        others = self.procedure["parameters"]
        return any(self.name == (other.get("length") or "").split("*")[0] for other in others) or self.name in ("n", "ndims", "count", "incount")

    def passed(self, j=0):
        """Returns the number that is passed."""
        if self.role == "logical" or self.role == "logical_void":
            return (self.at + j) % 2
        if self.role == "handle":
            return (100 * self.at + j + 1) * (-1 if (self.at + j) % 2 else 1)
        if not self.is_array and not self.is_out and self.is_length():
            return COUNT
        if self.name in ("root", "outcount"):
            return 0
        return 100 * self.at + j

    def stored(self, j=0):
        """Returns the number that the recorder stores."""
        if self.role in ("logical", "logical_void"):
            return 1 if self.name == "flag" else (self.at + j + 1) % 2
        if self.role == "handle":
            return (STORED + 100 * self.at + j) * (1 if (self.at + j) % 2 else -1)
        return 2 if self.name == "outcount" else STORED + 100 * self.at + j

    def tells_indices(self):
        """Tells whether it says which element of an array is meant, which Fortran counts from one."""
        return self.kind == "INDEX" and self.is_out and re.search("any|some", self.procedure["name"]) is not None

    def shown_as(self):
        """Returns the number under which an address is shown."""
        return DETACHED if self.kind == "C_BUFFER2" else self.at

    def text(self):
        return f"text {self.at}"

    # C

    def c_call(self):
        """Returns, for a caller in C: what is declared, what is passed, and what shows the result."""
        v, i = self.variable, self.at
        if not self.in_fortran:
            return "", "0", ""
        numbers = lambda convert: ", ".join(convert(self.passed(j)) for j in range(self.count))
        shift = lambda j: " + (answer == 0)" if self.tells_indices() and (not self.is_array or j < 2) else ""
        if self.role == "buffer":
            return "", f"buffer_{1 + i % 3}", ""
        if self.role == "handle":
            declared = f"{self.base} {v}[{self.count}] = {{{numbers(lambda n: f'({self.base})handle_of({n})')}}};"
            shown = [f"show({i}, number_of({v}[{j}]));" for j in range(self.count)] if self.is_out and (self.is_pointer or self.is_array) else []
            return declared, v if self.is_array or self.is_pointer else f"{v}[0]", " ".join(shown)
        if self.role in ("status", "f08_status", "f90_status"):
            of = {"status": "MPI_Status", "f08_status": "MPI_F08_status", "f90_status": "MPI_Fint"}[self.role]
            words = STATUS_WORDS * self.count
            filled = f"fill((int *){v}, {100 * i}, {words});"
            declared = f"{of} {v}[{self.count * (STATUS_WORDS if self.role == 'f90_status' else 1)}] = {{0}}; {filled}"
            return declared, v, f"show_words({i}, (int *){v}, {words});" if self.is_out else ""
        if self.role == "text":
            if self.is_out:
                return f"char {v}[8200] = \"\";", v, f"show_text({i}, {v}, 8200);"
            return "", f'"{self.text()}"', ""
        if self.role == "address":
            return f"void *{v} = 0;", f"&{v}", f"show({self.shown_as()}, (long){v});"
        if self.role in ("texts", "function", "word"):
            return "", "0", ""
        if self.role == "logical_void":
            return f"int {v} = {self.passed()};", f"&{v}", f"show({i}, {v});" if self.is_out else ""
        of = "int" if self.role == "logical" else self.base
        if "[3]" in self.c:
            return f"int {v}[{COUNT}][3]; fill(&{v}[0][0], {100 * i}, {3 * COUNT});", v, ""
        declared = f"{of} {v}[{self.count}] = {{{numbers(str)}}};"
        shown = " ".join(f"show({i}, {v}[{j}]{shift(j)});" for j in range(self.count))
        by_address = self.is_array or self.is_pointer
        return declared, v if by_address else f"{v}[0]", shown if self.is_out and by_address else ""

    # The recorder

    def recorded(self):
        """Returns what the recorder writes of the argument, and what it stores."""
        n, i = self.name, self.at
        n = f"a{i}"
        by_address = self.is_array or self.is_pointer
        if not self.in_fortran:
            return f"record({i}, (long){n});", ""
        if self.role == "buffer":
            return f"record_buffer({i}, {n});", ""
        if self.role == "text":
            if self.is_out:
                return "", f'strcpy({n}, "out {i}");'
            return f"record_text({i}, {n});", ""
        if self.role == "texts":
            return f"record_texts({i}, (char **){n}, {int(self.kind == 'STRING_2DARRAY')});", ""
        if self.role in ("function", "word"):
            return f"record({i}, {n} != 0);", ""
        if self.role == "address":
            return "", f"*(void **){n} = (void *){STORED + 100 * i}L;"
        if self.role in ("status", "f08_status", "f90_status"):
            words = STATUS_WORDS * self.count
            return (f"record_words({i}, (const int *){n}, {words});" if self.is_in else f"record({i}, {n} != 0);",
                    f"fill((int *){n}, {STORED + 100 * i}, {words});" if self.is_out else "")
        if self.role == "logical_void":
            return (f"record({i}, *(const int *){n});" if self.is_in else "", f"*(int *){n} = {self.stored()};" if self.is_out else "")
        if "[3]" in self.c:
            return f"record_words({i}, &{n}[0][0], {3 * COUNT});", ""
        element = [f"{n}[{j}]" for j in range(self.count)] if by_address else [n]
        number = "number_of({})" if self.role == "handle" else "{}"
        records = "".join(f"record({i}, {number.format(e)});" for e in element) if self.is_in else f"record({i}, {n} != 0);"
        value = f"({self.base})handle_of({{}})" if self.role == "handle" else "{}"
        stores = "".join(f"{e} = {value.format(self.stored(j))};" for j, e in enumerate(element)) if by_address and self.is_out else ""
        return records, stores

    # Fortran

    def fortran_call(self, f08):
        """Returns, for a caller in Fortran: what is declared, what comes before the call, what is passed, and what shows the result."""
        v, i = self.variable, self.at
        by_address = self.is_array or self.is_pointer
        dimension = f"({COUNT + 1})" if self.is_array else ""
        elements = [f"{v}({j + 1})" for j in range(COUNT)] if self.is_array else [v]
        if self.role == "buffer":
            return "", [], f"buffer_{1 + i % 3}", []
        if self.role == "handle":
            name = "Datatype" if self.base == "MPI_Datatype" else HANDLES[self.base]
            part = "%MPI_VAL" if f08 else ""
            declared = f"{f'type(MPI_{name})' if f08 else 'integer'} :: {v}{dimension}"
            before = [f"{e}{part} = given_handle({self.passed(j)}, '{name}')" for j, e in enumerate(elements)]
            return declared, before, v, [f"call show({i}, int({e}{part}, 8))" for e in elements] if by_address and self.is_out else []
        if self.role in ("status", "f08_status", "f90_status"):
            typed = (f08 and self.role == "status") or self.role == "f08_status"
            if typed:
                declared = f"type(MPI_Status), target :: {v}{dimension}"
            else:
                declared = f"integer, target :: {v}({STATUS_WORDS}{f', {COUNT + 1}' if self.is_array else ''})"
            words = STATUS_WORDS * self.count
            before = [f"call fill(c_loc({v}), {100 * i}, {words})"]
            return declared, before, v, [f"call show_words({i}, c_loc({v}), {words})"] if self.is_out else []
        if self.role == "text":
            if self.is_out:
                return f"character(len=8200) :: {v}", [f"{v} = ' '"], v, [f"call show_text({i}, {v}, 8200)"]
            # Blanks before the text are a part of the text, but not in info objects.
            blanks = "  " if "Info" in self.procedure["name"] else ""
            return f"character(len=30) :: {v}", [f"{v} = '{blanks}{self.text()}'"], v, []
        if self.role == "texts":
            if self.kind == "STRING_2DARRAY":
                return (f"character(len=9) :: {v}({COUNT}, 3)",
                        [f"{v} = reshape(['a11  ', 'a21  ', '     ', ' a12 ', '     ', '     ', '     ', '     ', '     '], [3, 3])"], v, [])
            return f"character(len=9) :: {v}(4)", [f"{v} = ['one  ', ' two ', 'three', '     ']"], v, []
        if self.role == "function":
            return "external :: nothing", [], "nothing", []
        if self.role == "word":
            of = "integer" if self.kind[-1].isdigit() else "integer(kind=MPI_ADDRESS_KIND)"
            return f"{of} :: {v}", [f"{v} = {self.passed()}"], v, [f"call show({i}, int({v}, 8))"] if self.is_out else []
        if self.role == "address":
            if self.kind == "C_BUFFER2" and not f08:
                return "", [], f"buffer_{1 + i % 3}", []
            if f08:
                return f"type(c_ptr) :: {v}", [f"{v} = c_null_ptr"], v, [f"call show({self.shown_as()}, transfer({v}, 0_8))"]
            return f"integer(kind=MPI_ADDRESS_KIND) :: {v}", [f"{v} = 0"], v, [f"call show({i}, int({v}, 8))"]
        if self.role in ("logical", "logical_void"):
            logical = lambda n: ".true." if n else ".false."
            before = [f"{e} = {logical(self.passed(j))}" for j, e in enumerate(elements)]
            shown = [f"call show({i}, merge(1_8, 0_8, {e}))" for e in elements] if self.is_out else []
            return f"logical :: {v}{dimension}", before, v, shown
        of = KINDS.get(self.base, "integer")
        if "[3]" in self.c:
            return f"integer, target :: {v}(3, {COUNT})", [f"call fill(c_loc({v}), {100 * i}, {3 * COUNT})"], v, []
        before = [f"{e} = {self.passed(j)}" for j, e in enumerate(elements)]
        shown = [f"call show({i}, int({e}, 8))" for e in elements] if self.is_out and by_address else []
        return f"{of} :: {v}{dimension}", before, v, shown
