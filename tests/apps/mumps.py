"""MUMPS: a direct solver of sparse systems in Fortran with OpenMP. Its examples solve systems whose solutions are known."""
import re

from archive import run, unpack
from lib import Failed, Skip, tail

# gfortran refuses procedures without interfaces that are
# called with buffers of several types, as those of mpif.h are, unless it is told not to.
MAKEFILE = """LPORDDIR = $(topdir)/PORD/lib/
IPORD = -I$(topdir)/PORD/include/
LPORD = -L$(LPORDDIR) -lpord$(PLAT)
ORDERINGSF = -Dpord
ORDERINGSC = $(ORDERINGSF)
LORDERINGS = $(LPORD)
IORDERINGSF =
IORDERINGSC = $(IPORD)
PLAT =
LIBEXT = .a
LIBEXT_SHARED = .so
OUTC = -o $(BLANK)
OUTF = -o $(BLANK)
RM = /bin/rm -f
CC = {mpicc}
FC = {mpifort}
FL = {mpifort}
AR = ar vr $(BLANK)
RANLIB = ranlib
LIBPAR = {standins}
LIBBLAS = {lapack} {blas}
LIBOTHERS = -lpthread
CDEFS = -DAdd_
OPTF = -O1 -fopenmp -w -fallow-argument-mismatch
OPTL = -O1 -fopenmp
OPTC = -O1 -fopenmp -w
INCS =
LIBS = $(LIBPAR)
LIBSEQNEEDED =
"""

# What MUMPS would call of ScaLAPACK for the last block of a large system. These systems are smaller, so the procedures are stand-ins that
# end the job if anybody calls them.
SCALAPACK = ["blacs_gridexit", "blacs_gridinfo", "blacs_gridinit", "descinit", "numroc", "pdgetrf", "pdgetrs", "pdpotrf", "pdpotrs"]
STANDIN = """void {name}_(void) {{ fputs("{name} was called, which is a stand-in\\n", stderr); exit(99); }}
"""

# The system: a grid of so many points in each direction, each with its four neighbours.
SIDE = 40


def build(options, apt):
    """Builds the library for double precision, and its examples."""
    if not (options.build / "include/mpif.h").exists():
        raise Skip("this build has no mpif.h")
    folder = options.out / "mumps"
    source = unpack(apt.source("mumps"), folder)
    blas, lapack = apt.linear_algebra(options.out / "linear")
    standins = folder / "standins.c"
    standins.write_text("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(STANDIN.format(name=name) for name in SCALAPACK))
    code, output = run(["gcc", "-fPIC", "-c", standins, "-o", standins.with_suffix(".o")])
    if code:
        raise Failed(f"stand-ins: {tail(output)}")
    mpifort = options.build / "bin/mpifort"
    (source / "Makefile.inc").write_text(MAKEFILE.format(mpicc=" ".join(options.mpicc), mpifort=mpifort, lapack=lapack, blas=blas,
                                                         standins=standins.with_suffix(".o")))
    code, output = run(["make", "-j2", "d"], cwd=source, timeout=900)
    examples = source / "examples"
    if code or not (examples / "dsimpletest").exists():
        raise Failed(f"build: {tail(output)}")
    (examples / "grid").write_text(grid())
    return examples


def solution(number):
    """Returns what the solution is to be at a point."""
    return 1 + number % 7


def grid():
    """Returns the system as dsimpletest reads it: size, number of entries, entries, right-hand side."""
    entries, right = [], [0.0] * (SIDE * SIDE)
    for point in range(SIDE * SIDE):
        row, column = divmod(point, SIDE)
        neighbours = [(point - SIDE, row > 0), (point + SIDE, row < SIDE - 1), (point - 1, column > 0), (point + 1, column < SIDE - 1)]
        for other, value in [(point, 4.5), *((other, -1.0 - 0.1 * (other > point)) for other, is_there in neighbours if is_there)]:
            entries.append(f"{point + 1} {other + 1} {value!r}\n")
            right[point] += value * solution(other)
    return f"{len(right)}\n{len(entries)}\n" + "".join(entries) + "".join(f"{value!r}\n" for value in right)


def solve(options, examples, ranks, kind):
    """Solves the system on so many ranks, with teams of two threads each, and compares the solution."""
    command = [*options.mpirun, "--ranks-as", kind, "-stdin", "0", "-n", ranks, "./dsimpletest"]
    with open(examples / "grid") as system:
        code, output = run(command, cwd=examples, timeout=options.timeout, env={"OMP_NUM_THREADS": "2"}, stdin=system.read())
    if code:
        raise Failed(f"exit code {code}: {tail(output)}")
    used = set(re.findall(r"executing #MPI = +(\d+) and #OMP = +(\d+)", output))
    if used != {(str(ranks), "2")}:
        raise Failed(f"ran with {used} ranks and threads, not with {ranks} and 2")
    found = re.search(r"Solution is\s+((?:[-+\d.]+(?:E[-+]\d+)?\s+)+)", output)
    values = [float(word) for word in found[1].split()] if found else []
    if len(values) != SIDE * SIDE:
        raise Failed(f"printed {len(values)} values of {SIDE * SIDE}: {tail(output)}")
    error = max(abs(value - solution(number)) for number, value in enumerate(values))
    if not error < 1e-10:
        raise Failed(f"the largest error is {error}")
    return f"largest error {error:.1e}"


def from_c(options, examples, kind):
    """Runs the example in C, which calls the Fortran library."""
    code, output = run([*options.mpirun, "--ranks-as", kind, "-n", "4", "./c_example"], cwd=examples, timeout=options.timeout)
    if code or not re.search(r"Solution is : \( +1\.00 +2\.00\)", output):
        raise Failed(f"exit code {code}: {tail(output)}")


def tests(options, apt, test):
    """Builds MUMPS and runs its examples."""
    examples = test("mumps build", lambda: build(options, apt))
    if examples:
        for kind in ("threads", "processes"):
            test(f"mumps in C, {kind}", lambda kind=kind: from_c(options, examples, kind))
            for ranks in options.ranks:
                test(f"mumps {ranks} ranks, {kind}", lambda kind=kind, ranks=ranks: solve(options, examples, ranks, kind))
