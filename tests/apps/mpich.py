"""MPICH's own tests of the Fortran bindings (mpif.h, the module mpi, the module mpi_f08) and of the tool information interface.
Each prints "No Errors" if it has found none."""
import re
import shutil
from pathlib import Path

from archive import run, unpack
from lib import Failed, Skip, at_once, tail

# A way's folder, the ending of its files, and what the build must have for it.
WAYS = {"f77": ("f", "include/mpif.h"), "f90": ("f90", None), "f08": ("f90", None)}
# The tests of the tool information interface that are about no variable of MPICH's own, with the numbers of ranks.
TOOLS = {"mpi_t/mpi_t_str": 1, "mpi_t/mpit_vars": 1, "mpi_t/getindex": 1, "mpi_t/cvarwrite": 1, "threads/mpi_t/mpit_threading": 1}
# What MPICH's configure would say of threads: POSIX has them.
THREADS = "-DTHREAD_PACKAGE_NAME=2"
# Tests that are wrong about MPI 5.0, by why; those of one way only with its name.
REASONS = {
    "uses what MPI 3.0 removed": """typecntsf allctypesf hindex1f typecntsf90 allctypesf90 hindex1f90 f90/get_elem_u allctypesf08 attrmpi1f08
        baseattrf08 baseattr2f08 attrlangf08""",
    "knows no MPI after 4": "baseenvf baseenvf90",
    "expects errors without a communicator at MPI_COMM_WORLD, as before MPI 4.0":
        "namepubf connaccf namepubf90 connaccf90",
    "expects that MPI keeps extra_state by reference": "greqf greqf90 greqf08",
    "passes an array where the modules have a scalar": """alltoallvf90 split_typef90 vw_inplacef90 nonblocking_inpf90 irsendf90 issendf90
        pssendf90 irsendf08 issendf08 pssendf08""",
    "expects blanks that MPI strips from the beginnings of arguments": "f08/spawnargvf03 f08/spawnargvf90",
    "defines a procedure of MPI where the module's is in scope": "f90/profile1f90",
    "declares functions that mpif.h has declared": "f77/aintf",
    "has a file in C that uses a variable it does not declare": "f08/c2f2ciof90",
}
WRONG = {name: reason for reason, names in REASONS.items() for name in names.split()}


def expanded(text):
    """Fills in the kinds of integers that MPICH's configure would."""
    return re.sub(r"@F77_MPI_(ADDRESS|OFFSET|INTEGER)@", r"integer(kind=MPI_\1_KIND)", text)


class Way:
    """The tests of one way to call MPI from Fortran."""

    def __init__(self, options, source, name):
        self.options, self.name, self.top = options, name, source / "test/mpi"
        self.ending, _ = WAYS[name]
        self.out = options.out / "mpich" / f"tests-{name}"
        self.mpifort = [options.build / "bin/mpifort", "-g", "-w", "-fallow-argument-mismatch", "-I", self.out]
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def prepare(self):
        """Compiles what all tests of the way share."""
        for header in (self.top / "f77").glob("*/*.h.in"):
            (self.out / header.stem).write_text(expanded(header.read_text()))
        (self.top / "include/mpitestconf.h").write_text("#define F77_NAME_LOWER_USCORE 1\n")
        utility = self.top / "util" / f"mtest_{self.name}.{self.ending}"
        code, output = run([*self.mpifort, "-c", utility, "-o", self.out / "mtest.o"], cwd=self.out)
        if code:
            raise Failed(f"{utility.name}: {tail(output)}")

    def tests(self):
        """Lists folder, name and number of ranks of each test."""
        found = []
        for listed in sorted((self.top / self.name).glob("*/testlist*")):
            for line in listed.read_text().splitlines():
                words = re.sub(r"@\w+@", "", line).split()
                is_test = len(words) > 1 and words[1].isdigit()
                if is_test and (listed.parent / f"{words[0]}.{self.ending}").exists():
                    found.append((listed.parent, words[0], words[1]))
        return sorted(set(found))

    def sources(self, folder, name):
        """Returns the files of a test, those in C compiled, which the folder's Makefile lists if there are several."""
        listed = re.search(rf"^{name}_SOURCES *= *(.*)$", (folder / "Makefile.am").read_text(), re.M)
        files = [folder / word for word in (listed[1].split() if listed else [f"{name}.{self.ending}"])]
        # Some files in C are in the folder of another way only.
        files = [file if file.exists() else self.top / "f90" / folder.name / file.name for file in files]
        common = [] if listed else [*folder.glob(f"utils*.{self.ending}"), *folder.glob(f"dummy*.{self.ending}")]
        for number, file in enumerate(files):
            if file.suffix == ".c":
                files[number] = self.out / f"{name}-{file.stem}.o"
                code, output = run([*self.options.mpicc, "-w", "-I", self.top / "include", "-c", file, "-o", files[number]])
                if code:
                    raise Failed(f"{file.name}: {tail(output)}")
        return [*files, *common]

    def test(self, item):
        """Compiles a test and runs it as threads and as processes."""
        folder, name, ranks = item
        reason = WRONG.get(name) or WRONG.get(f"{self.name}/{name}")
        if reason:
            raise Skip(reason)
        place = self.out / folder.name / name
        place.mkdir(parents=True)
        words = [*self.mpifort, "-I", folder, *self.sources(folder, name), self.out / "mtest.o", "-o", place / name]
        code, output = run(words, cwd=place)
        if code:
            raise Failed(f"does not compile: {tail(output, 12)}")
        run_both(self.options, ranks, place / name)


def run_both(options, ranks, program):
    """Runs a test as threads and as processes."""
    for kind in ("threads", "processes"):
        code, output = run([*options.mpirun, "--ranks-as", kind, "-n", ranks, program], cwd=program.parent, timeout=60)
        if code or "No Errors" not in output:
            raise Failed(f"as {kind}: exit code {code}: {tail(output)}")


def tool(options, source, name):
    """Compiles and runs a test in C of the tool information interface."""
    top, program = source / "test/mpi", options.out / "mpich" / Path(name).name
    (top / "include/mpitestconf.h").write_text("")
    flags = ["-w", THREADS, "-DHAVE_STDLIB_H", "-DHAVE_STRING_H", "-DHAVE_STDARG_H", "-I", top / "include", "-I", top / "util"]
    utilities = [top / "util" / f"{name}.c" for name in ("mtest", "mtest_common", "mtest_thread")]
    code, output = run([*options.mpicc, *flags, "-o", program, top / f"{name}.c", *utilities, "-pthread"])
    if code:
        raise Failed(f"does not compile: {tail(output, 12)}")
    run_both(options, TOOLS[name], program)


def unpacked(options, apt):
    """Returns the sources."""
    return unpack(apt.source("mpich"), options.out / "mpich")


def tests(options, apt, test):
    """Builds and runs the tests of all ways, two at a time."""
    source = test("mpich's tests: sources", lambda: unpacked(options, apt))
    for name in TOOLS if source else ():
        test(f"mpich {name}", lambda name=name: tool(options, source, name))
    for name in WAYS if source else ():
        way = Way(options, source, name)
        needs = WAYS[name][1]
        if needs and not (options.build / needs).exists():
            continue
        test(f"mpich {name} utilities", way.prepare)
        for (folder, case, ranks), outcome in at_once(2, way.test, way.tests()):
            test(f"mpich {name} {folder.name}/{case}", lambda outcome=outcome: again(outcome))


def again(outcome):
    """Ends as a test has ended."""
    if outcome.reason:
        raise Skip(outcome.reason)
    if outcome.problem:
        raise Failed(outcome.problem)
