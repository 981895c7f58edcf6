"""Global Arrays on MPI's one-sided operations: arrays that all ranks read and write. Its own tests, in C and in Fortran, check what they
put, get, accumulate, copy and multiply."""
import os
import re
import shutil

from archive import run, unpack
from lib import Failed, Skip, tail

# On 4 ranks, as the project's own list has them, or on one. Left out are measurements, what checks nothing, what takes minutes, and two
# that fail with INTEGERs of 4 bytes whichever MPI is under them (nga-patch, testeig).
IN_C = """comm_init elempatch gemmtest getmem mtest nbtestc normc ntestc ntestfc patch_enumc perf2 read_only simple_groups_commc testc testmult
    testmultrect""".split()
IN_FORTRAN = """bin blktest g2test g3test jacobi mir_perf2 mulmatpatch nb2test nga-util overlay patch patch2 scan sparse test
    testsolve""".split()
ON_ONE = ["mulmatpatchc"]
RANKS = 4
# What a test prints last if it has found nothing wrong.
FINE = re.compile(r"success|test passed|test succeeded", re.I)


def build(options, apt):
    """Builds library and tests with the project's own CMake files, which find Weft by the compiler wrappers."""
    if not (options.build / "include/mpif.h").exists():
        raise Skip("this build has no mpif.h")
    for tool in ("cmake", "gfortran"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}")
    source = unpack(apt.source("ga"), options.out / "ga")
    # An INTEGER has 4 bytes in MPI's interfaces.
    settings = {"GA_RUNTIME": "MPI_RMA", "ENABLE_I8": "OFF", "ENABLE_CXX": "OFF", "CMAKE_BUILD_TYPE": "None", "CMAKE_C_FLAGS": "-O1 -w",
                "CMAKE_Fortran_FLAGS": "-O1 -w", "CMAKE_POSITION_INDEPENDENT_CODE": "ON"}
    paths = dict(os.environ, PATH=f"{options.build.resolve() / 'bin'}:{os.environ['PATH']}")
    targets = [f"{name}.x" for name in (*IN_C, *IN_FORTRAN, *ON_ONE)]
    # All of it includes a header that is written first, which the dependencies do not say.
    for command in (["cmake", "-S", ".", "-B", "build", *(f"-D{name}={value}" for name, value in settings.items())],
                    ["cmake", "--build", "build", "--target", "GenerateF2C_CH"],
                    ["cmake", "--build", "build", "-j", "2", "--target", *targets]):
        code, output = run(command, cwd=source, timeout=900, env=paths)
        if code:
            raise Failed(f"{command[1]}: {tail(output)}")
    return source / "build/global/testing"


def check(options, folder, name, ranks, kind):
    """Runs a test, and fails unless the test says that all was right."""
    code, output = run([*options.mpirun, "--ranks-as", kind, "-n", ranks, f"./{name}.x"], cwd=folder, timeout=options.timeout)
    if code or not FINE.search("\n".join(output.splitlines()[-40:])):
        raise Failed(f"exit code {code}: {tail(output)}")


def tests(options, apt, test):
    """Builds Global Arrays and runs its tests."""
    folder = test("ga build", lambda: build(options, apt))
    if not folder:
        return
    for kind in ("threads", "processes"):
        for name in (*IN_C, *IN_FORTRAN, *ON_ONE):
            ranks = 1 if name in ON_ONE else RANKS
            test(f"ga {name} {ranks} ranks, {kind}",
                 lambda name=name, ranks=ranks, kind=kind: check(options, folder, name, ranks, kind))
