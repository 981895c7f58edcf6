"""What a process has one of: such programs become processes by themselves, and give the answer they give as processes."""
import concurrent.futures
import re
import shutil

from lib import BIN, BUILD, ROOT, Skip, expect, mpirun, run

# A program of two ranks: rank 1 may prepare, rank 0 changes something, and rank 1 looks and prints `text`.
PROGRAM = """
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <libintl.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <mcheck.h>
#include <mpi.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
extern char *re_comp(const char *); extern int re_exec(const char *);
static int rank; static long seen = -1; static char text[4096];
@outside@
int main(int argc, char **argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) { @prepare@; }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) { @change@; }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) { @look@; if (!*text) snprintf(text, sizeof text, "%ld", seen); puts(text); }
  MPI_Finalize();
  return 0;
}
"""

HANDLER = "static void handler(int number) { (void)number; write(2, \"handler\\n\", 8); }"
JUMP = "static sigjmp_buf back; static void handler(int n) { (void)n; siglongjmp(back, 1); }"
LOCKED = ("static int locked(const char *program) { char path[4096]; snprintf(path, sizeof path, \"%s.lock\", program); "
          "return open(path, O_RDWR | O_CREAT, 0600); }")
SET = "cpu_set_t set; sched_getaffinity(0, sizeof set, &set);"
BIND = SET + " for (int i = 0, n = 0; i < CPU_SETSIZE; i++) if (CPU_ISSET(i, &set) && n++) CPU_CLR(i, &set);"

# Name, which is a symbol of the table; the change; the look; and what else the program has.
CASES = [
    ("chdir", "chdir(\"/\")", "getcwd(text, sizeof text)", {}),
    ("fchdir", "fchdir(open(\"/\", O_RDONLY))", "getcwd(text, sizeof text)", {}),
    ("umask", "umask(0175)", "seen = umask(0)", {}),
    ("signal", "signal(SIGUSR1, SIG_IGN)", "signal(SIGUSR2, SIG_IGN); kill(syscall(SYS_getpid), SIGUSR1); seen = 1", {"dies": True}),
    ("sigaction", "struct sigaction a = {.sa_handler = handler}; sigaction(SIGUSR1, &a, NULL)",
     "struct sigaction a; sigaction(SIGUSR1, NULL, &a); seen = a.sa_handler == handler || a.sa_handler != SIG_DFL",
     {"outside": HANDLER}),
    ("sigaction", "struct sigaction a = {.sa_handler = handler}; sigaction(SIGSEGV, &a, NULL); "
     "if (!sigsetjmp(back, 1)) *(volatile int *)0 = 1; else puts(\"back\")",
     "*(volatile int *)0 = 1; puts(\"wrong\")", {"outside": JUMP, "dies": True}),
    ("sigaltstack", "stack_t s = {.ss_sp = malloc(77777), .ss_size = 77777}; sigaltstack(&s, NULL)",
     "stack_t s; sigaltstack(NULL, &s); seen = s.ss_size == 77777", {}),
    ("pthread_sigmask", "sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR2); pthread_sigmask(SIG_BLOCK, &s, NULL)",
     "sigset_t s; pthread_sigmask(SIG_BLOCK, NULL, &s); seen = sigismember(&s, SIGUSR2)", {}),
    ("alarm", "alarm(10000)", "seen = alarm(0) > 0", {}),
    ("setitimer", "struct itimerval t = {.it_value = {10000, 0}}; setitimer(ITIMER_VIRTUAL, &t, NULL)",
     "struct itimerval t; getitimer(ITIMER_VIRTUAL, &t); seen = t.it_value.tv_sec > 0", {}),
    ("setrlimit", "struct rlimit l; getrlimit(RLIMIT_CORE, &l); l.rlim_cur = 0; l.rlim_max = 0; setrlimit(RLIMIT_CORE, &l)",
     "struct rlimit l; getrlimit(RLIMIT_CORE, &l); seen = l.rlim_max == 0",
     {}),
    ("nice", "seen = nice(3)", "seen = getpriority(PRIO_PROCESS, 0)", {}),
    ("sched_setaffinity", BIND + " sched_setaffinity(0, sizeof set, &set)", SET + " seen = CPU_COUNT(&set)", {}),
    ("prctl", "prctl(PR_SET_CHILD_SUBREAPER, 1)", "int on; prctl(PR_GET_CHILD_SUBREAPER, &on); seen = on", {}),
    ("mallopt", "mallopt(M_PERTURB, 0x55)", "volatile unsigned char *p = malloc(99); seen = p[50] == 0xaa", {}),
    ("close_range", "close_range(50, 60, 0)", "seen = write(55, \"\", 0)", {"prepare": "while (dup(1) < 60)"}),
    ("signgam", "volatile double x = -0.5; lgamma(x)", "seen = signgam", {"prepare": "volatile double x = 0.5; lgamma(x)"}),
    ("tzset", "setenv(\"TZ\", \"UTC0\", 1); tzset()", "setenv(\"TZ\", \"EST5\", 1); tzset(); seen = timezone", {}),
    ("setlocale", "setlocale(LC_ALL, \"C.UTF-8\")", "strcpy(text, setlocale(LC_ALL, NULL))", {}),
    ("timer_create", "timer_t t; timer_create(CLOCK_MONOTONIC, NULL, &t)",
     "struct itimerspec t; seen = timer_gettime((timer_t)0, &t)", {}),
    ("getpwnam", "getpwnam(\"daemon\")", "strcpy(text, entry->pw_name)",
     {"outside": "static struct passwd *entry;", "prepare": "entry = getpwnam(\"root\")"}),
    ("hsearch", "ENTRY e = {\"b\", \"2\"}; hcreate(9); hsearch(e, ENTER)", "ENTRY e = {\"b\", NULL}; seen = !!hsearch(e, FIND)",
     {"prepare": "ENTRY e = {\"a\", \"1\"}; hcreate(9); hsearch(e, ENTER)"}),
    ("ecvt", "int d, s; ecvt(2.5, 3, &d, &s)", "strcpy(text, digits)",
     {"outside": "static char *digits;", "prepare": "int d, s; digits = ecvt(1.5, 3, &d, &s)"}),
    ("fcntl", "struct flock l = {.l_type = F_WRLCK}; fcntl(locked(argv[0]), F_SETLK, &l)",
     "struct flock l = {.l_type = F_WRLCK}; seen = fcntl(locked(argv[0]), F_SETLK, &l)", {"outside": LOCKED}),
    ("lockf", "lockf(locked(argv[0]), F_TLOCK, 0)", "seen = lockf(locked(argv[0]), F_TLOCK, 0)", {"outside": LOCKED}),
    ("flock", "flock(locked(argv[0]), LOCK_EX | LOCK_NB)", "seen = flock(locked(argv[0]), LOCK_EX | LOCK_NB)", {"outside": LOCKED}),
    ("sbrk", "sbrk(1 << 22)", "seen = (char *)sbrk(0) - before >= 1 << 22",
     {"outside": "static char *before;", "prepare": "before = sbrk(0)"}),
    ("mtrace", "mtrace()", "seen = 1", {}),
    ("textdomain", "textdomain(\"others\")", "strcpy(text, textdomain(NULL))", {}),
    ("error_message_count", "error(0, 0, \"as wanted\")", "seen = error_message_count", {}),
    ("re_comp", "re_comp(\"b\")", "seen = re_exec(\"a\")", {"prepare": "re_comp(\"a\")"}),
    ("thrd_create", "", "thrd_t t; thrd_create(&t, in_thread, NULL); thrd_join(t, NULL)",
     {"outside": "static int in_thread(void *p) { (void)p; int r; MPI_Comm_rank(MPI_COMM_WORLD, &r); seen = r; return 0; }"}),
    ("argp_parse", "", "char *v[] = {\"x\", \"--version\", 0}; static const struct argp all = {0}; "
     "seen = argp_parse(&all, 2, v, ARGP_NO_EXIT | ARGP_SILENT, NULL, NULL)",
     {"outside": "const char *argp_program_version = \"version 7\";"}),
]


def standing(name):
    """Returns the verdict that the table has on a symbol."""
    table = (ROOT / "crates/loader/symbols/judged.txt").read_text()
    return re.search(rf"^{name} +(\w+)", table, re.M)[1]


def answer(result):
    """Returns what is the same in every run of a program."""
    return result.code, result.out


def check_case(shop, number, case):
    name, change, look, more = case
    text = PROGRAM
    for part, code in {"outside": "", "prepare": "", **more, "change": change, "look": look}.items():
        text = text.replace(f"@{part}@", str(code))
    source = shop.write(f"case{number}.c", text)
    program = shop.compile(source, "-O0", "-w", "-lm")
    alone = mpirun("--ranks-as", "processes", "--timeout", "50", "-n", "2", program)
    assert more.get("dies", False) == (alone.code != 0), f"{name}: {alone}"
    default = mpirun("-v", "--timeout", "50", "-n", "2", program)
    assert answer(default) == answer(alone), f"{name}: by default {default}; as processes {alone}"
    if standing(name) == "processes":
        expect(default, err=["ranks are processes, because", f"{program}: uses "])
        assert re.search(rf"\b{name}\b.* \(", default.err), default


def test_programs_that_act_on_the_process_become_processes(shop):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(check_case, shop, number, case) for number, case in enumerate(CASES)]
        wrong = [str(one.exception()) for one in running if one.exception()]
    assert not wrong, "\n".join(wrong)


def test_memory_of_another_rank_is_not_replaced_in_silence(shop):
    program = shop.compile(ROOT / "tests/launch/mapped.c", "-g")
    expect(mpirun("--ranks-as", "processes", "-n", "2", program), 0, lines=["a", "b"])
    result = mpirun("-n", "2", program)
    assert result.code not in (0, 9), result
    expect(result, err=["mmap at the fixed address 0x123400000000, 65536 bytes: another rank has mapped", "--ranks-as processes",
                        "rank 1 on", "mapped.c:"])
    for harmless in ["own", "after"]:
        expect(mpirun("-n", "2", program, harmless), 0)


ACTS = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  umask(022);
  signal(SIGUSR1, SIG_IGN);
  if (chdir(".")) return 1;
  printf("%d\\n", size);
  MPI_Finalize();
  return 0;
}
"""


def test_threads_that_share_something_are_warned_of_in_a_line(shop):
    program = shop.compile(shop.write("acts.c", ACTS))
    result = expect(mpirun("--ranks-as", "threads", "-n", "2", program), 0, lines=["2", "2"])
    warning = f"mpirun: --ranks-as threads: all ranks share what these act on: {program}: chdir, umask, signal\n"
    assert sorted(result.err.replace(":", ",").split()) == sorted(warning.replace(":", ",").split()), result
    # Several blocks of one program are one warning.
    result = expect(mpirun("--ranks-as", "threads", "-n", "1", program, ":", "-n", "2", program), 0, lines=["3"] * 3)
    assert result.err.count("all ranks share") == 1, result
    source = shop.write("plain.c", "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n")
    result = expect(mpirun("--ranks-as", "threads", "-n", "2", shop.compile(source)), 0)
    assert not result.err, result


def test_several_ranks_per_process_want_to_be_asked_for_what_they_share(shop):
    program = shop.compile(shop.write("acts.c", ACTS))
    expect(mpirun("--ranks-per-process", "2", "-n", "4", program), 2, out="",
           err=["--ranks-per-process 2", "uses chdir (", "uses umask (", "--ranks-as threads"])
    expect(mpirun("--ranks-per-process", "2", "--ranks-as", "threads", "-n", "4", program), 0, lines=["4"] * 4,
           err="all ranks share")
    # No such advice where it would not help.
    result = expect(mpirun("--ranks-per-process", "2", "-n", "4", shop.write("s", "#!/bin/sh\n", 0o755)), 2, err="is a script")
    assert "--ranks-as" not in result.err, result


def test_check_says_why_in_a_line_for_each_reason(shop):
    program = shop.compile(shop.write("acts.c", ACTS))
    result = expect(run(BIN / "weft", "check", program), 1, out=["must be processes", "--ranks-as threads"])
    assert result.out.count("  because ") == 3 and result.out.count("remedy") == 1, result


RUNTIME = """
#include <mpi.h>
void called(void);
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  called();
  MPI_Finalize();
}
"""


def test_libraries_of_compilers_that_are_missing_or_older_are_named(shop):
    """A program that was compiled elsewhere does not start, however its ranks run, and the message says what to install."""
    source = shop.write("called.c", "void called(void) {}\n")
    versions = [shop.write(name, f"{name} {{ global: called; }};\n") for name in ("GFORTRAN_8", "GFORTRAN_99")]
    library = shop.path / "libgfortran.so.99"
    make = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{library.name}", "-o", library, source]
    expect(run(*make, f"-Wl,--version-script,{versions[1]}"), 0)
    program = shop.compile(shop.write("runtime.c", RUNTIME), library, f"-Wl,-rpath,{shop.path}")
    older, missing = "needs version GFORTRAN_99 of libgfortran.so.99 (the runtime library of gfortran)", "package libgfortran99"
    for said, change in (("", lambda: None),
                         (older, lambda: expect(run(*make, f"-Wl,--version-script,{versions[0]}"), 0)),
                         (missing, library.unlink)):
        change()
        for kind in ("threads", "processes"):
            result = mpirun("--ranks-as", kind, "-n", "2", program)
            expect(result, 126 if said else 0, err=said)
            assert not said or result.err.count("\n") == 1, result
        expect(run(BIN / "weft", "check", program), 3 if said else 0, out=said)


CXX = """
#include <mpi.h>
#include <iostream>
#include <filesystem>
#include <sstream>
@library@
int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) base();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) show(std::filesystem::exists("/") ? 255 : 0);
  MPI_Finalize();
}
"""
STREAMS = "#include <iostream>\nvoid base() { std::cout << std::hex; }\nvoid show(int n) { std::cout << n << std::endl; }\n"


def test_cxx_programs_have_no_notes_and_streams_of_their_own(shop):
    source = shop.write("own.cpp", CXX.replace("@library@", STREAMS))
    program = shop.compile(source, "-std=c++17", wrapper="mpicxx")
    result = expect(run(BIN / "weft", "check", program), 0)
    assert len(result.out.splitlines()) == 1, result
    expect(mpirun("-n", "2", program), 0, lines=["255"])


# What each brings of the C++ library, and what it does with it.
PARTS = {
    "regex": ("regex", "std::smatch m; std::string s = \"rank 12\"; std::regex_search(s, m, std::regex(\"[a-z]+ ([0-9]+)\"));"),
    "locale": ("locale", "std::use_facet<std::ctype<char>>(std::locale()).toupper('a'); std::locale(\"C\").name();"),
    "thread": ("thread", "int n = 0; std::thread t([&] { n++; }); t.join();"),
    "future": ("future", "std::async(std::launch::async, [] { return 2; }).get();"),
    "random": ("random", "std::random_device d; std::mt19937 g(d()); g();"),
    "files": ("filesystem", "for (auto &e : std::filesystem::directory_iterator(\"/\")) e.is_directory();"),
    "wide": ("iostream", "std::wcout << L\"wide\" << std::endl; std::clog << 1.5;"),
}


def test_nothing_is_noted_of_cxx_programs(shop):
    for name, (header, does) in PARTS.items():
        text = f"#include <mpi.h>\n#include <{header}>\nint main(int c, char **v) {{ MPI_Init(&c, &v); {does} MPI_Finalize(); }}\n"
        program = shop.compile(shop.write(f"part-{name}.cpp", text), "-std=c++17", "-pthread", wrapper="mpicxx")
        result = expect(run(BIN / "weft", "check", program), 0)
        assert len(result.out.splitlines()) == 1, result


def test_streams_of_the_shared_cxx_library_make_processes(shop):
    library = shop.path / "libstreams.so"
    expect(run("g++", "-shared", "-fPIC", "-o", library, shop.write("streams.cpp", STREAMS)), 0)
    source = shop.write("theirs.cpp", CXX.replace("@library@", "void base(); void show(int);"))
    program = shop.compile(source, "-std=c++17", f"-L{shop.path}", "-lstreams", f"-Wl,-rpath,{shop.path}", wrapper="mpicxx")
    expect(mpirun("-v", "-n", "2", program), 0, lines=["255"], err=["libstreams.so: uses std::cout ("])


def test_calls_that_are_not_done_are_listed(shop):
    undone = (ROOT / "crates/launcher/src/tools/undone.rs").read_text()
    names = re.findall(r'"(MPI_\w+)"', undone)
    if not names:
        raise Skip("every procedure is done")
    source = shop.write("undone.c", f"#include <mpi.h>\nint main(int c, char **v) {{ MPI_Init(&c, &v);"
                        f"if (c > 1) ((int (*)(int)){names[0]})(1); if (c > 2) ((int (*)(int))P{names[-1]})(1);"
                        "return MPI_Finalize(); }\n")
    program = shop.compile(source, "-w")
    expect(run(BIN / "weft", "check", program), 0, out=[f"not done: {program}: calls {names[0]}, P{names[-1]}"])
    expect(mpirun("-v", "-n", "1", program), 0, err=["calls 2 procedures that are not done", "weft check"])
    assert "not done" not in mpirun("-v", "-n", "1", BUILD / "examples/hello").err
    # Fortran's library calls all procedures; a program is told of its own only. The interface for tools is C's alone.
    if shutil.which("gfortran"):
        in_fortran = [name.lower() for name in names if not name.startswith("MPI_T_")][:1]
        for name in ["", *in_fortran]:
            call = f"external {name}\nif (command_argument_count() > 1) call {name}()\n" if name else ""
            source = shop.write("undone.f90", f"program p\n{call}end program\n")
            expect(run(BIN / "mpifort", source, "-o", shop.path / "fortran"), 0)
            found = run(BIN / "weft", "check", shop.path / "fortran").out
            assert f"calls {name}_" in found if name else "not done" not in found, found


def test_scripts_that_cannot_start_are_named(shop):
    weft = BIN / "weft"
    for name, text, parts in [
            ("bare", "echo no first line\n", ["is text", "#!/bin/sh"]),
            ("gone", "#!/no/such/interpreter -x\necho hello\n", ["/no/such/interpreter", "does not exist"]),
            ("windows", "#!/bin/sh\r\necho hello\r\n", ["/bin/sh", "carriage return"]),
            ("nothing", "#!\necho hello\n", ["no interpreter"]),
            ("denied", "#!/etc/passwd\n", ["/etc/passwd", "not executable"])]:
        script = shop.write(name, text, 0o755)
        expect(mpirun("-n", "2", script), 126, out="", err=[str(script), *parts])
        expect(run(weft, "check", script), 3, out=[str(script), *parts])
    script = shop.write("good", "#! /bin/sh\necho hello\n", 0o755)
    expect(mpirun("-n", "2", script), 0, lines=["hello", "hello"])


def test_impossible_numbers_of_ranks_are_refused(shop):
    hello = BUILD / "examples/hello"
    for options in [], ["--ranks-as", "processes"], ["--ranks-per-process", "8"]:
        expect(mpirun(*options, "-n", "100000000", hello), 1, out="", err=["100000000 ranks", "start fewer"])
