"""MPICH's own tests in C, chapter by chapter, as threads and as processes. Each prints "No Errors" if it has found none."""
import re
import shutil

import mpich
from archive import run
from lib import Failed, Skip, at_once, tail

FOLDERS = """attr info group init basic datatype coll comm errhan topo part pt2pt spawn rma io threads/pt2pt threads/comm threads/init
    threads/spawn threads/coll threads/rma errors/attr errors/basic errors/coll errors/comm errors/datatype errors/errhan errors/group
    errors/info errors/io errors/pt2pt errors/rma errors/topo""".split()
# What configure would find on this kind of machine.
FOUND = """HAVE_DOUBLE__COMPLEX HAVE_FLOAT__COMPLEX HAVE_GETRUSAGE HAVE_LONG_DOUBLE HAVE_LONG_DOUBLE__COMPLEX HAVE_LONG_LONG HAVE_STRDUP
    HAVE_USLEEP HAVE__BOOL STDC_HEADERS HAVE_INTTYPES_H HAVE_STDINT_H HAVE_STDLIB_H HAVE_STRING_H HAVE_STRINGS_H HAVE_STDARG_H HAVE_UNISTD_H
    HAVE_SYS_TIME_H HAVE_SYS_RESOURCE_H HAVE_SYS_TYPES_H HAVE_SYS_STAT_H HAVE_LIMITS_H HAVE_MEMORY_H HAVE_MEMSET HAVE_ERRNO_H HAVE_FCNTL_H
    HAVE_SIGNAL_H USE_LONG_DOUBLE_COMPLEX HAVE_MPI_IO HAVE_MPI_SPAWN HAVE_MPI_WIN_CREATE""".split()
HEADER = "".join(f"#define {name} 1\n" for name in FOUND) + """#define POINTERINT_t long
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SHORT 2
#define SIZEOF_VOID_P 8
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
"""
# What MPI 3.0 removed, under its new names, so that the tests' own library of datatypes compiles.
RENAMED = {"MPI_Type_hvector": "MPI_Type_create_hvector", "MPI_Type_hindexed": "MPI_Type_create_hindexed",
           "MPI_Type_struct": "MPI_Type_create_struct", "MPI_Address": "MPI_Get_address"}
# Why a test is left out.
REASONS = {
    "uses what MPI 3.0 removed": """datatype/lbub_oldapi datatype/transpose_pack_oldapi datatype/typename_oldapi datatype/indexed_misc_oldapi
        datatype/simple_size_extent_oldapi datatype/struct_no_real_types errhan/commcall_oldapi errors/datatype/type_extent_nullarg
        errors/datatype/type_lb_nullarg errors/datatype/type_ub_nullarg""",
    "takes handles for numbers": "datatype/pack_external coll/nonblocking2 coll/nonblocking3",
    "takes MPI_MESSAGE_NULL for MPI_REQUEST_NULL": """threads/pt2pt/mt_improbe_isendrecv threads/pt2pt/mt_improbe_sendrecv
        threads/pt2pt/mt_improbe_sendrecv_huge""",
    "wants a name that another of the same datatype has": "datatype/typename",
    "expects errors without a communicator at MPI_COMM_WORLD, as before MPI 4.0": """attr/attrerrtype spawn/namepub errors/attr/keyvalmis
        errors/coll/reduce_local errors/comm/cfree errors/group/gerr errors/comm/comm_create_nullarg errors/comm/comm_create_group_nullarg
        errors/comm/comm_split_nullarg errors/comm/comm_split_type_nullarg errors/datatype/type_contiguous_nullarg
        errors/datatype/type_get_extent_nullarg errors/datatype/type_get_true_extent_nullarg errors/datatype/type_get_true_extent_x_nullarg
        errors/datatype/type_size_x_nullarg errors/datatype/type_vector_nullarg errors/group/group_difference_nullarg
        errors/group/group_intersection_nullarg errors/group/group_range_excl_nullarg errors/group/group_range_incl_nullarg
        errors/group/group_rank_nullarg errors/group/group_size_nullarg errors/group/group_translate_ranks_nullarg
        errors/group/group_union_nullarg""",
    "frees a key or a datatype, and uses it afterwards": """attr/keyval_double_free attr/keyval_double_free_comm attr/keyval_double_free_type
        attr/keyval_double_free_win datatype/indexed_misc""",
    "expects MPI_Status_set_elements to count datatypes": "datatype/large_count",
    "wants logical operations on floating-point numbers": "coll/oplxor",
    "calls functions of MPICH's own, or of its MPI-IO": "errhan/adderr io/async",
    "takes more memory than common machines have": "coll/gather_big",
    "never ends, to try its launcher's limit of time": "init/timeout",
    "wants MPI_ERR_IO for a filetype that goes backwards": "io/tst_fileview",
    "expects MPI_COMM_NULL where the standard has communicators of one rank": "topo/cartsuball",
    "wants the factors that MPICH finds": "topo/dims5",
    "expects that reorder changes nothing": "topo/distgraph1",
    "reads what the standard leaves undefined": "part/multipart errors/topo/cartsmall",
    "sends elements of MPI_DATATYPE_NULL": "part/nonblocking_pready",
    "wants sends to be cancelled": "pt2pt/scancel pt2pt/pscancel pt2pt/scancel_unmatch",
    "expects MPI_Exscan to look at a receive buffer that means nothing": "errors/coll/noalias2 errors/coll/noalias3",
    "makes a mistake that only checking mode looks for": """errors/coll/bcastlength errors/coll/ibcastlength errors/coll/reducelength
        errors/coll/reduceop errors/coll/ireduceop errors/coll/scatterlength errors/coll/iscatterlength errors/coll/iallgatherlength
        errors/pt2pt/truncmsg2""",
    "wants communicators to run out": """errors/comm/too_many_comms errors/comm/too_many_comms2 errors/comm/too_many_comms3
        errors/comm/too_many_icomms errors/comm/too_many_icomms2""",
    "takes minutes": "rma/large_acc_flush_local rma/rma_contig",
    "compares and swaps characters": "errors/rma/cas_type_check",
}
WRONG = {name: reason for reason, names in REASONS.items() for name in names.split()}
LIMIT_S = 180


class Suite:
    """The tests, and what they share."""

    def __init__(self, options, source):
        self.options, self.top = options, source / "test/mpi"
        self.out = options.out / "mpich" / "tests-c"
        self.shared = []
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def compiler(self, folder):
        """Returns the command that compiles what is in a folder."""
        places = [self.top / "include", self.top / "dtpools/include", self.top / "util", folder]
        return [*self.options.mpicc, "-O0", "-g", "-w", "-DHAVE_CONFIG_H", *(f"-D{old}={new}" for old, new in RENAMED.items()),
                *(word for place in places for word in ("-I", place))]

    def prepare(self):
        """Compiles what all tests share."""
        (self.top / "include/mpitestconf.h").write_text(HEADER)
        (self.top / "dtpools/dtpoolsconf.h").write_text(HEADER)
        utilities = [self.top / f"util/{name}.c" for name in ("mtest", "mtest_common", "mtest_thread", "dtypes")]
        for file in [*utilities, *sorted((self.top / "dtpools/src").glob("*.c"))]:
            place = self.out / f"{file.stem}.o"
            code, output = run([*self.compiler(self.top / "dtpools"), "-c", file, "-o", place])
            if code:
                raise Failed(f"{file.name}: {tail(output)}")
            self.shared.append(place)

    def tests(self):
        """Returns folder and name of each test, with how it is run: numbers of ranks, arguments, whether it must fail."""
        found = {}
        for folder in FOLDERS:
            lists = [self.top / folder / name for name in ("testlist", "testlist.in")]
            listed = next((file.read_text() for file in lists if file.exists()), "")
            for line in listed.splitlines():
                words = re.sub(r"@\w+@", "", line).split()
                # Settings of MPICH's own make no other test.
                if len(words) < 2 or not words[1].isdigit() or any(word.startswith("env=") for word in words):
                    continue
                if not (self.top / folder / f"{words[0]}.c").exists() and f"{words[0]}_SOURCES" not in self.makefile(folder):
                    continue
                arguments = [word.removeprefix("arg=") for word in words[2:] if word.startswith("arg=")]
                way = words[1], arguments, any(word.startswith("resultTest=") for word in words)
                ways = found.setdefault((folder, words[0]), [])
                if way not in ways:
                    ways.append(way)
        return sorted(found.items())

    def makefile(self, folder):
        file = self.top / folder / "Makefile.am"
        return file.read_text().replace("\\\n", " ") if file.exists() else ""

    def compile(self, folder, name):
        """Compiles a test; returns the program."""
        def words(kind):
            listed = re.search(rf"^{name}_{kind} *= *(.*)$", self.makefile(folder), re.M)
            return listed[1].split() if listed else []
        place = self.out / folder
        place.mkdir(parents=True, exist_ok=True)
        files = [self.top / folder / word for word in words("SOURCES") if word.endswith(".c")] or [self.top / folder / f"{name}.c"]
        flags = [word for word in words("CPPFLAGS") if word.startswith("-D")]
        command = [*self.compiler(self.top / folder), *flags, *files, *self.shared, "-o", place / name, "-lm", "-pthread"]
        code, output = run(command)
        if code:
            raise Failed(f"does not compile: {tail(output, 12)}")
        return place / name

    def test(self, item):
        """Compiles a test and runs it in all its ways."""
        (folder, name), ways = item
        if reason := WRONG.get(f"{folder}/{name}"):
            raise Skip(reason)
        program = self.compile(folder, name)
        for ranks, arguments, fails in ways:
            for kind in ("threads", "processes"):
                command = [*self.options.mpirun, "--timeout", str(LIMIT_S), "--ranks-as", kind, "-n", ranks, program, *arguments]
                code, output = run(command, cwd=program.parent, timeout=LIMIT_S + 20)
                if not code if fails else code or "no errors" not in output.lower():
                    raise Failed(f"{' '.join([ranks, kind, *arguments])}: exit code {code}: {tail(output)}")


def tests(options, apt, test):
    """Builds and runs all, two at a time."""
    source = test("mpich's tests in C: sources", lambda: mpich.unpacked(options, apt))
    if not source:
        return
    suite = Suite(options, source)
    test("mpich-c utilities", suite.prepare)
    for ((folder, name), _), outcome in at_once(2, suite.test, suite.tests()):
        test(f"mpich-c {folder}/{name}", lambda outcome=outcome: mpich.again(outcome))
