"""PARPACK: eigenvalues of large matrices by many ranks, in Fortran 77 with mpif.h. Its examples print how far each result is off."""
import os
import re
import shutil

from archive import run, unpack
from lib import Failed, Skip, tail

# Examples by what their matrix is made of: ten blocks, a rank has one at least; or a hundred rows, a rank has two at least. The
# residuals are those of the precision that the names tell (single, double, complex of either).
BLOCKS = ["pssdrv1", "pdsdrv1", "psndrv1", "pdndrv1", "pcndrv1", "pzndrv1"]
ROWS = ["psndrv3", "pdndrv3"]
MOST_BLOCKS, MOST_ROWS = 10, 50
# Solves the same problem on half of the ranks and then on all.
HALVES = "issue46"
SINGLE, DOUBLE = 1e-3, 1e-9


def build(options, apt):
    """Builds library and examples with the project's own CMake files, which find Weft by the compiler wrappers."""
    if not (options.build / "include/mpif.h").exists():
        raise Skip("this build has no mpif.h")
    for tool in ("cmake", "gfortran"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}")
    blas, lapack = apt.linear_algebra(options.out / "linear")
    source = unpack(apt.source("arpack"), options.out / "parpack")
    settings = {"MPI": "ON", "EXAMPLES": "ON", "TESTS": "ON", "BUILD_SHARED_LIBS": "OFF", "CMAKE_BUILD_TYPE": "None",
                "CMAKE_Fortran_FLAGS": "-O1", "CMAKE_POSITION_INDEPENDENT_CODE": "ON", "BLAS_LIBRARIES": blas,
                "LAPACK_LIBRARIES": f"{lapack};{blas}"}
    paths = dict(os.environ, PATH=f"{options.build.resolve() / 'bin'}:{os.environ['PATH']}")
    for command in (["cmake", "-S", ".", "-B", "build", *(f"-D{name}={value}" for name, value in settings.items())],
                    ["cmake", "--build", "build", "-j", "2", "--target", *BLOCKS, *ROWS, HALVES]):
        code, output = run(command, cwd=source, timeout=900, env=paths)
        if code:
            raise Failed(f"{command[1]}: {tail(output)}")
    return source / "build/PARPACK"


def solve(options, program, ranks, kind):
    """Runs an example, and fails unless it found the eigenvalues that it looked for, each with a small residual."""
    code, output = run([*options.mpirun, "--ranks-as", kind, "-n", ranks, program], cwd=program.parent, timeout=options.timeout)
    if code:
        raise Failed(f"exit code {code}: {tail(output)}")
    used, wanted, found = (re.findall(rf"{words} is +(\d+)", output)
                           for words in ("number of processors", "Ritz values requested", "converged Ritz values"))
    if not used or used[-1] != str(ranks):
        raise Failed(f"ran with {used} ranks, not with {ranks}: {tail(output)}")
    tables = re.findall(r"direct residuals\n.*\n.*\n((?: +Row .*\n)+)", output)
    rows = [line.split()[2:] for table in tables for line in table.splitlines()]
    if wanted != found or len(tables) != len(used) or len(rows) < sum(map(int, wanted)):
        raise Failed(f"found {found} of {wanted} values, and printed {len(rows)}: {tail(output)}")
    # Fortran leaves out the letter before an exponent of three digits, which no small residual has.
    worst = max(float(row[-1].replace("D", "E")) if re.search("[DE]", row[-1]) else float("inf") for row in rows)
    if not worst < (SINGLE if re.match("p[sc]", program.name) else DOUBLE):
        raise Failed(f"the largest residual is {worst}")
    return f"largest residual {worst:.1e}"


def tests(options, apt, test):
    """Builds PARPACK and runs its examples."""
    folder = test("parpack build", lambda: build(options, apt))
    if not folder:
        return
    few = min(options.ranks)
    runs = [(f"EXAMPLES/MPI/{name}", min(few, MOST_BLOCKS)) for name in BLOCKS]
    runs += [(f"EXAMPLES/MPI/{name}", ranks) for name in ROWS for ranks in sorted({min(ranks, MOST_ROWS) for ranks in options.ranks})]
    for kind in ("threads", "processes"):
        for name, ranks in [*runs, (f"TESTS/MPI/{HALVES}", min(few, MOST_BLOCKS))]:
            program = folder / name
            test(f"parpack {program.name} {ranks} ranks, {kind}",
                 lambda program=program, ranks=ranks, kind=kind: solve(options, program, ranks, kind))
