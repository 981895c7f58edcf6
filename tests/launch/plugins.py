"""What a rank opens with dlopen is its own, as in a process."""
import shutil
from pathlib import Path

from lib import BIN, Skip, expect, mpirun, run

HERE = Path(__file__).resolve().parent / "plugins"


def library(shop, name, *flags, source="library.c", wrapper="mpicc"):
    path = shop.path / "plugins" / name
    path.parent.mkdir(exist_ok=True)
    expect(run(BIN / wrapper, "-shared", "-fPIC", "-O1", "-g", "-o", path, HERE / source, *flags), 0)
    return path


def plugins(shop):
    """Builds the plugins and their libraries; returns their folder and the program."""
    folder = shop.path / "plugins"
    here = (f"-L{folder}", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined")
    if not (folder / "counter.so").exists():
        library(shop, "libnear.so", "-DPREFIX=near", "-Wl,-soname,libnear.so")
        library(shop, "libdep.so", "-DPREFIX=dep", "-Wl,-soname,libdep.so")
        library(shop, "libparent.so", "-DPREFIX=parent", "-Wl,-soname,libparent.so")
        library(shop, "orphan.so", "-DPREFIX=orphan", "-DNEEDS=parent_add", *here, "-Wl,--no-as-needed", "-lparent")
        (folder / "libparent.so").unlink()
        (folder / "sub").mkdir()
        library(shop, "sub/libinner.so", "-DPREFIX=inner")
        library(shop, "counter.so", *here, "-Wl,-rpath,$ORIGIN/sub", "-ldep", "-lnear", source="counter.c")
        for name in ("kept", "giver", "brief"):
            library(shop, f"{name}.so", f"-DPREFIX={name}")
        library(shop, "user.so", "-DPREFIX=user", "-DNEEDS=giver_add")
        library(shop, "late.so", "-DPREFIX=late", "-DNEEDS=giver_add", "-Wl,-z,lazy")
        library(shop, "deep.so", "-DPREFIX=deep", "-DNEEDS=which")
        library(shop, "flat.so", "-DPREFIX=flat", "-DNEEDS=which")
        library(shop, "local.so", "-DPREFIX=local", '-DTHREAD="global-dynamic"')
        (folder / "text.so").write_text("no library\n" * 20)
    program = shop.compile(HERE / "program.c", "-rdynamic", f"-L{folder}", "-lnear", f"-Wl,-rpath,{folder}",
                           "-ldl", "-pthread", name="plugged")
    return folder, program


def test_plugins_of_a_rank_are_its_own(shop):
    folder, program = plugins(shop)
    ways = [["--ranks-as", "processes"]]
    ways += [["--ranks-as", "threads", *way] for way in (["--workers", "1"], ["--workers", "2"], ["--scheduler", "kernel"])]
    for way in ways:
        for ranks in (2, 5):
            # A handler and a destructor of a plugin that is still open run at the end, the program's destructor first
            # but after the handlers.
            good = [f"{rank}: begin handler good" for rank in range(ranks)]
            expect(mpirun("-n", str(ranks), *way, program, folder), 0, lines=good)


def test_plugins_of_many_ranks_are_their_own(shop):
    folder, program = plugins(shop)
    good = [f"{rank}: begin handler good" for rank in range(64)]
    expect(mpirun("-n", "64", "--ranks-as", "threads", program, folder), 0, lines=good)


def test_plugins_in_cxx_throw_and_keep_their_templates(shop):
    plugin = library(shop, "objects.so", source="objects.cpp", wrapper="mpicxx")
    program = shop.compile(HERE / "user.cpp", wrapper="mpicxx", name="cxx-user")
    for way in ("processes", "threads"):
        lines = [f"{r}: {r + 1}, thrown {r}, caught {r + 7}, remembers 12, still {r + 1}" for r in range(3)]
        lines += ["plugin ends, used 3"] * 3
        expect(mpirun("-n", "3", "--ranks-as", way, program, plugin), 0, lines=lines)


def test_plugins_that_cannot_be_private_are_refused(shop):
    opener = shop.compile(HERE / "opener.c", "-ldl")
    fixed = library(shop, "fixed.so", "-DPREFIX=fixed", '-DTHREAD="initial-exec"')
    text = library(shop, "textual.so", "-DTEXT", "-Wl,-z,notext", source="odd.c")
    stack = library(shop, "stack.so", "-DPREFIX=stack", "-Wl,-z,execstack")
    for plugin, why in ((fixed, "thread-local data of the initial-exec model"), (text, "relocations in its code"),
                        (stack, "needs an executable stack")):
        # It may be one for processes.
        expect(mpirun("-n", "2", "--ranks-as", "processes", opener, plugin), 0, lines=["open"] * 2)
        result = expect(mpirun("-n", "2", "--ranks-as", "threads", opener, plugin), 0)
        for line in result.out.splitlines():
            assert line.startswith(f"{plugin}: ") and why in line and "--ranks-as processes" in line, result


def test_the_mpi_library_is_not_opened_again(shop):
    opener = shop.compile(HERE / "opener.c", "-ldl")
    library = (BIN.parent / "lib" / "libmpi_abi.so.1").resolve()
    link = shop.path / "libother.so"
    link.symlink_to(library)
    expect(mpirun("-n", "2", "--ranks-as", "threads", opener, library, "libmpi_abi.so.1", link), 0, lines=["open"] * 6)


def test_a_plugin_with_destructors_of_threads_stays(shop):
    program = shop.compile(HERE / "stay.cpp", wrapper="mpicxx")
    plugin = library(shop, "staying.so", source="staying.cpp", wrapper="mpicxx")
    for way in ("processes", "threads"):
        lines = [f"{rank}: still {rank + 4}" for rank in range(2)] + ["destroyed"] * 2
        expect(mpirun("-n", "2", "--ranks-as", way, program, plugin), 0, lines=lines)


def test_a_plugin_that_concerns_other_ranks_is_reported_once(shop):
    opener = shop.compile(HERE / "opener.c", "-ldl")
    plugin = library(shop, "forks.so", "-DFORK", source="odd.c")
    result = expect(mpirun("-n", "3", "--ranks-as", "threads", opener, plugin), 0, lines=["open"] * 3)
    said = [line for line in result.err.splitlines() if str(plugin) in line]
    assert len(said) == 1 and "fork" in said[0] and "--ranks-as processes" in said[0], result


def test_a_crash_in_a_plugin_names_its_source(shop):
    opener = shop.compile(HERE / "opener.c", "-ldl")
    plugin = library(shop, "crash.so", "-DCRASH", "-O0", source="odd.c")
    expect(mpirun("-n", "2", "--ranks-as", "threads", opener, plugin), err=["SIGSEGV", "write_to at odd.c", "go at odd.c"])


def test_a_debugger_stops_in_a_plugin(shop):
    if not shutil.which("gdb"):
        raise Skip("gdb is missing")
    opener = shop.compile(HERE / "opener.c", "-ldl")
    plugin = library(shop, "crash.so", "-DCRASH", "-O0", source="odd.c")
    script = shop.write("commands", "set breakpoint pending on\nset follow-fork-mode child\nbreak write_to\nrun\nbt\nkill\n")
    result = run("gdb", "-q", "-nx", "-batch", "-x", script, "--args", BIN / "mpirun", "--scheduler", "kernel", "-n", "2",
                 "--ranks-as", "threads", opener, plugin)
    if "ptrace" in result.out + result.err and "not permitted" in result.out + result.err:
        raise Skip("tracing is not permitted")
    expect(result, out=["#0  write_to", "odd.c:", "#1", " go ()", " in main ("])


def test_what_is_closed_gives_its_memory_back(shop):
    program = shop.compile(HERE / "repeat.c", "-ldl", name="repeat")
    plugin = library(shop, "again.so", "-DPREFIX=again")
    for way in (["--workers", "2"], ["--scheduler", "kernel"]):
        expect(mpirun("-n", "4", "--ranks-as", "threads", *way, program, plugin), 0, lines=["same"])
