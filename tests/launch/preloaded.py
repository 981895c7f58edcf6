"""Tools that come between a program and MPI: linked or by LD_PRELOAD, each rank has its own, and each call is seen once."""
from pathlib import Path

from lib import BIN, expect, mpirun, run

HERE = Path(__file__).resolve().parent / "preloaded_tools"
THREADS = [["--ranks-as", "threads", *way] for way in (["--workers", "1"], ["--workers", "2"], ["--scheduler", "kernel"])]
WAYS = [*THREADS, ["--ranks-as", "processes"], ["--ranks-per-process", "2"]]


def library(shop, name, source, *flags):
    path = shop.path / name
    if not path.exists():
        expect(run(BIN / "mpicc", "-shared", "-fPIC", "-O1", "-o", path, HERE / source, "-Wl,--allow-shlib-undefined", *flags), 0)
    return path


def sender(shop, *flags, name="sender"):
    return shop.compile(HERE / "sender.c", "-rdynamic", "-ldl", *flags, name=name)


def counted(ranks, times=1, name="counter"):
    return [f"{name}: rank {rank}: {times * rank} sends, made 1" for rank in range(ranks)]


def test_a_preloaded_tool_is_each_ranks_own(shop):
    program, tool = sender(shop), library(shop, "counter.so", "counter.c")
    for way in WAYS:
        expect(mpirun("-n", "4", *way, program, environment={"LD_PRELOAD": str(tool)}), 0, lines=counted(4))
        expect(mpirun("-n", "4", *way, "-x", f"LD_PRELOAD={tool}", program), 0, lines=counted(4))


def test_a_preloaded_tool_may_be_named_without_a_folder(shop):
    program, tool = sender(shop), library(shop, "counter.so", "counter.c")
    for way in (THREADS[1], WAYS[-1]):
        environment = {"LD_PRELOAD": tool.name, "LD_LIBRARY_PATH": str(tool.parent)}
        expect(mpirun("-n", "3", *way, program, environment=environment), 0, lines=counted(3))
        expect(mpirun("-n", "3", *way, "-wdir", tool.parent, "-x", f"LD_PRELOAD=./{tool.name}", program), 0, lines=counted(3))


def test_a_linked_tool_is_each_ranks_own(shop):
    tool = library(shop, "libcounter.so", "counter.c", "-Wl,-soname,libcounter.so")
    program = sender(shop, "-Wl,--no-as-needed", f"-L{tool.parent}", "-lcounter", f"-Wl,-rpath,{tool.parent}", name="linked")
    for way in WAYS:
        expect(mpirun("-n", "4", *way, program), 0, lines=counted(4))
    # Linked and preloaded, it is one.
    expect(mpirun("-n", "4", *THREADS[0], program, environment={"LD_PRELOAD": str(tool)}), 0, lines=counted(4))


def test_tools_that_ask_for_the_next_one_are_a_chain(shop):
    program = sender(shop)
    first = library(shop, "first.so", "counter.c", "-DNEXT", '-DNAME="first"')
    second = library(shop, "second.so", "counter.c", "-DNEXT", '-DNAME="second"')
    for way in WAYS:
        expect(mpirun("-n", "3", *way, program, environment={"LD_PRELOAD": f"{first}:{second}"}), 0,
               lines=[*counted(3, name="first"), *counted(3, name="second")])


def test_a_preloaded_tool_sees_calls_of_plugins(shop):
    program, tool, plugin = sender(shop), library(shop, "counter.so", "counter.c"), library(shop, "plugin.so", "plugin.c")
    for way in WAYS:
        expect(mpirun("-n", "3", *way, program, "plugin", plugin, environment={"LD_PRELOAD": str(tool)}), 0, lines=counted(3, 2))


def test_other_preloaded_libraries_and_the_variable_stay(shop):
    program, tool, other = sender(shop), library(shop, "counter.so", "counter.c"), library(shop, "other.so", "other.c", "-nostdlib")
    for way in (THREADS[1], WAYS[-2]):
        value = f"{other}:{tool}"
        said = [f"rank {rank}: LD_PRELOAD {value}, other 77" for rank in range(2)]
        expect(mpirun("-n", "2", *way, program, "say", environment={"LD_PRELOAD": value}), 0, lines=[*counted(2), *said])


def test_a_tool_that_cannot_be_a_ranks_own_makes_processes(shop):
    program, tool = sender(shop), library(shop, "early.so", "counter.c", '-DTHREAD="initial-exec"')
    preload = {"LD_PRELOAD": str(tool)}
    expect(mpirun("-n", "3", program, environment=preload), 0, lines=counted(3))
    expect(mpirun("-n", "3", "--ranks-as", "threads", program, environment=preload), 126, err=["early.so", "initial-exec"])
    expect(run(BIN / "weft", "check", program, environment=preload), 1, out="early.so")
