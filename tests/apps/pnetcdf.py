"""PnetCDF: arrays in netCDF files that all ranks write and read together. Its own tests in C compare what they read; its validator,
which knows nothing of MPI's files, judges what they have written."""
import os
import re
import shutil

from archive import run, unpack
from lib import Failed, Skip, tail

# The folders of tests that the project itself runs in parallel, on 4 ranks.
FOLDERS = ["testcases", "nonblocking", "header"]
# The files that a test writes where there is not one, of its own name.
SEVERAL = {name: ["1", "2", "5"] for name in ("put_all_kinds", "iput_all_kinds")}
# Tests that leave no file of one format to judge: a version is printed, files are for timing.
WITHOUT_FILE = ["tst_version", "mcoll_perf"]
RANKS = 4
VALIDATOR = "src/utils/ncvalidator/ncvalidator"


def build(options, apt):
    """Builds library and tests with the project's own configure and Makefiles, and returns the top folder."""
    for tool in ("m4", "autoreconf", "aclocal", "libtoolize"):
        if not shutil.which(tool):
            raise Skip(f"there is no {tool}")
    source = unpack(apt.source("pnetcdf"), options.out / "pnetcdf")
    settings = ["--disable-fortran", "--disable-cxx", "--disable-shared", "--disable-dependency-tracking",
                f"MPICC={options.mpicc[0]}", "CFLAGS=-O1 -w -fPIE"]
    for command, folder in ((["autoreconf", "-i"], "."), (["./configure", *settings], "."), (["make", "-j", "2"], "src"),
                            *((["make", "-j", "2", "tests-local"], f"test/{name}") for name in ("common", *FOLDERS))):
        code, output = run(command, cwd=source / folder, timeout=900)
        if code:
            raise Failed(f"{' '.join(command[:3])} in {folder}: {tail(output, 10)}")
    (source / "out").mkdir()
    return source


def names(folder):
    """Lists the programs of a folder of tests that have been built."""
    return sorted(file.name for file in folder.iterdir() if file.is_file() and not file.suffix and os.access(file, os.X_OK))


def check(options, source, folder, name, kind):
    """Runs a test, which says whether it passed, and lets the validator judge its files."""
    start = [*options.mpirun, "--ranks-as", kind]
    path = source / "out" / f"{name}-{kind}.nc"
    code, output = run([*start, "-n", RANKS, f"./{name}", path], cwd=folder, timeout=options.timeout)
    if code or re.search(r"\bfail|error at", output, re.I):
        raise Failed(f"exit code {code}: {tail(output)}")
    if name not in WITHOUT_FILE:
        for ending in SEVERAL.get(name, [""]):
            written = path.with_name(path.name + ending)
            code, output = run([source / VALIDATOR, "-q", written], timeout=options.timeout)
            if code:
                raise Failed(f"{written.name} is no valid file: {tail(output)}")
            written.unlink()


def tests(options, apt, test):
    """Builds PnetCDF and runs its tests."""
    source = test("pnetcdf build", lambda: build(options, apt))
    if not source:
        return
    for kind in ("threads", "processes"):
        for folder in [source / "test" / name for name in FOLDERS]:
            for name in names(folder):
                test(f"pnetcdf {folder.name}/{name} {RANKS} ranks, {kind}",
                     lambda folder=folder, name=name, kind=kind: check(options, source, folder, name, kind))
