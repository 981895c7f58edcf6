"""HPCC: HPL, PTRANS, RandomAccess, FFT and STREAM, which judge their own results; with a tool between HPCC and MPI, too."""
import re
import shutil
from pathlib import Path

from archive import run, unpack
from lib import Failed, Skip, cluster, tail

HERE = Path(__file__).resolve().parent
# What HPL's build wants to know; the BLAS is GSL's, a plain C library that every rank gets its own copy of. HPL's
# option HPL_NO_MPI_DATATYPE keeps it from MPI_Address and MPI_Type_struct, which MPI 3.0 removed.
HPCC_MAKE = """SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir
RM = /bin/rm -f
TOUCH = touch
ARCH = $(arch)
TOPdir = ../../..
INCdir = $(TOPdir)/include
BINdir = $(TOPdir)/bin/$(ARCH)
LIBdir = $(TOPdir)/lib/$(ARCH)
HPLlib = $(LIBdir)/libhpl.a
HPL_INCLUDES = -I$(INCdir) -I$(INCdir)/$(ARCH)
HPL_LIBS = $(HPLlib) -L{blas} -lgslcblas -Wl,-rpath,{blas} -lm
HPL_DEFS = -DHPL_CALL_CBLAS -DHPL_COPY_L -DHPL_NO_MPI_DATATYPE $(HPL_INCLUDES)
CC = {mpicc}
CCNOOPT = $(HPL_DEFS)
CCFLAGS = $(HPL_DEFS) -O2 -w
LINKER = {mpicc}
LINKFLAGS = $(CCFLAGS)
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
"""

HPCC_INPUT = """HPCC, small
tests
HPL.out      output file name
8            device out
1            number of problem sizes
{n}          Ns
1            number of NBs
{nb}         NBs
0            process mapping
1            number of process grids
{p}          Ps
{q}          Qs
16.0         threshold
1            number of panel factorizations
2            PFACTs
1            number of stopping criteria
4            NBMINs
1            number of panels in recursion
2            NDIVs
1            number of recursive factorizations
1            RFACTs
1            number of broadcasts
1            BCASTs
1            number of lookahead depths
1            DEPTHs
2            SWAP
64           swapping threshold
0            L1 form
0            U form
1            equilibration
8            alignment
##### ignored
0            additional sizes for PTRANS
1200
0            additional block sizes for PTRANS
40
"""


def build(options, apt):
    folder = options.out / "hpcc"
    blas = options.out / "blas"
    source = unpack(apt.source("hpcc"), folder)
    if not list(blas.glob("usr/lib/*/libgslcblas.so")):
        apt.package("libgslcblas0", blas)
        apt.package("libgsl-dev", blas)
    library = next(blas.glob("usr/lib/*/libgslcblas.so")).parent
    (source / "hpl/Make.Weft").write_text(HPCC_MAKE.format(blas=library, mpicc=" ".join(options.mpicc)))
    code, output = run(["make", "arch=Weft"], cwd=source, timeout=600)
    if code or not (source / "hpcc").exists():
        raise Failed(f"build: {tail(output)}")
    return source / "hpcc"


def check_hpcc(text, ranks):
    """Raises Failed unless every part of HPCC says that its results are right."""
    if "End of HPC Challenge tests" not in text:
        raise Failed(f"the report has no end: {tail(text, 5)}")
    summary = dict(re.findall(r"^(\w+)=(\S+)$", text.split("Begin of Summary section.")[-1], re.M))
    if summary.get("CommWorldProcs") != str(ranks):
        raise Failed(f"ran on {summary.get('CommWorldProcs')} ranks, not {ranks}")
    if summary.get("Success") != "1":
        raise Failed(f"Success={summary.get('Success')}")
    hpl = re.findall(r"^\|\|A.*\.\.\.\.\.\. (\w+)", text, re.M)
    if not hpl or any(verdict != "PASSED" for verdict in hpl):
        raise Failed(f"HPL says {hpl}")
    ptrans = re.findall(r"^(?:WALL|CPU) .*?(PASSED|FAILED)", text, re.M)
    if not ptrans or "FAILED" in ptrans:
        raise Failed(f"PTRANS says {ptrans}")
    # RandomAccess of all three kinds, both generators: "Found E errors in L locations (passed|failed)."
    random_access = re.findall(r"Found \d+ errors in \d+ locations(?: \((\w+)\))?", text)
    if len(random_access) < 2 or any(verdict != "passed" for verdict in random_access):
        raise Failed(f"RandomAccess says {random_access}")
    failures = re.findall(r"^Node\(s\) with error (\d+)$", text, re.M)
    if any(count != "0" for count in failures):
        raise Failed(f"RandomAccess or FFT: nodes with errors {failures}")
    stream = re.findall(r"Solution Validates", text)
    if not stream or "Failed Validation" in text:
        raise Failed("STREAM does not validate")
    fft = [float(e) for e in re.findall(r"Max\s*error[^=:]*[=:]\s*([-+.\deE]+)|max\(\|x-x0\|\):\s*([-+.\deE]+)", text)
           for e in e if e]
    if not fft or any(not error < 1e-10 for error in fft):
        raise Failed(f"FFT: largest errors {fft}")
    return f"HPL {summary.get('HPL_Tflops')} Tflop/s, latency {summary.get('MaxPingPongLatency_usec')} us"


def on_hosts(options, count, words):
    """Returns the command that runs ranks in turns on hosts made of network namespaces."""
    reason = cluster.missing()
    if reason:
        raise Skip(reason)
    script = 'mpirun=$0; exec "$mpirun" --launcher-exec "$CLUSTER_RSH" "$@"'
    hosts = [*options.mpirun[1:], "-hosts", f"host[1-{count}]", "-rr"]
    return [cluster.__file__, "run", count, "--", "sh", "-c", script, options.mpirun[0], *hosts, *words]


def prepared(options, ranks, name):
    """Makes a folder with the input for so many ranks."""
    rows = {4: 2, 8: 2, 16: 4, 64: 8}[ranks]
    folder = options.out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # RandomAccess sends one update at a time, as many as this allows, for up to a minute.
    size = {4: 480, 8: 160, 16: 640, 64: 960}[ranks]
    (folder / "hpccinf.txt").write_text(HPCC_INPUT.format(n=size, nb=40, p=rows, q=ranks // rows))
    return folder


def measure(options, program, ranks, hosts=0):
    folder = prepared(options, ranks, f"hpcc-{ranks}-{hosts}")
    words = ["-n", ranks, program]
    command = on_hosts(options, hosts, words) if hosts else [*options.mpirun, *words]
    # Processes of four hosts share this machine's cores: on two of them it takes a minute and a half.
    code, output = run(command, cwd=folder, timeout=options.timeout * (2 if hosts else 1))
    report = folder / "hpccoutf.txt"
    if code:
        raise Failed(f"exit code {code}: {tail(output)}")
    if not report.exists():
        raise Failed(f"wrote no report: {tail(output)}")
    return check_hpcc(report.read_text(errors="replace"), ranks)


def tool(options):
    """Builds the tool that counts calls."""
    path = options.out / "libprofile.so"
    code, output = run([*options.mpicc, "-O1", "-shared", "-fPIC", "-Wl,-soname,libprofile.so", "-o", path, HERE / "profile.c"])
    if code:
        raise Failed(f"the tool: {tail(output)}")
    return path


def linked(options, program, library):
    """Links HPCC anew, with the tool; returns the program."""
    make = program.parent / "hpl/Make.Weft"
    text = make.read_text()
    flags = f"-Wl,--no-as-needed -L{library.parent} -lprofile -Wl,-rpath,{library.parent}"
    make.write_text(text.replace("-lgslcblas", f"{flags} -lgslcblas"))
    kept = program.rename(program.with_name("hpcc-alone"))
    code, output = run(["make", "arch=Weft"], cwd=program.parent, timeout=600)
    make.write_text(text)
    if code or not program.exists():
        raise Failed(f"link: {tail(output)}")
    made = program.rename(program.with_name("hpcc-profiled"))
    kept.rename(program)
    return made


def profile(options, program, ranks, *ways, preloaded=None):
    """Runs HPCC with the tool, which counts on each rank what the library counts; returns what the tool reports."""
    folder = prepared(options, ranks, f"hpcc-profile-{ranks}")
    environment = {"PROFILE_REPORT": str(folder / "profile.txt"), **({"LD_PRELOAD": str(preloaded)} if preloaded else {})}
    command = [*options.mpirun, *ways, "-n", ranks, program]
    code, output = run(command, cwd=folder, timeout=options.timeout, env=environment)
    if code:
        raise Failed(f"exit code {code}: {tail(output)}")
    check_hpcc((folder / "hpccoutf.txt").read_text(errors="replace"), ranks)
    report = (folder / "profile.txt").read_text()
    if not report.startswith(f"profile of {ranks} ranks, 0 of which") or report.count("profile of") != 1:
        raise Failed(f"{report.splitlines()[0]}; {tail(output)}")
    # Every rank waits in each barrier of all.
    calls = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+) calls", report, re.M)}
    if not calls.get("Send") or not calls.get("Barrier") or calls["Barrier"] % ranks:
        raise Failed(f"the tool reports {calls}")
    return report.splitlines()[1]


def tests(options, apt, test):
    """Builds HPCC and runs it."""
    hpcc = test("hpcc build", lambda: build(options, apt))
    if hpcc:
        for ranks in options.ranks:
            test(f"hpcc {ranks} ranks", lambda ranks=ranks: measure(options, hpcc, ranks))
        test("hpcc 8 ranks on 4 hosts", lambda: measure(options, hpcc, 8, hosts=4))
    if hpcc and 16 in options.ranks and not options.plain:
        library = tool(options)
        threads, processes = ["--ranks-as", "threads"], ["--ranks-as", "processes"]
        test("hpcc 16 ranks, profiled", lambda: profile(options, hpcc, 16, *threads, preloaded=library))
        test("hpcc 16 processes, profiled", lambda: profile(options, hpcc, 16, *processes, preloaded=library))
        test("hpcc 16 ranks, profiled by link", lambda: profile(options, linked(options, hpcc, library), 16, *threads))
