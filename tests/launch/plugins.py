"""What a rank opens with dlopen is its own, as in a process."""
import re
from pathlib import Path

from common import BIN, expect, mpirun, run

HERE = Path(__file__).resolve().parent / "plugins"


def library(shop, name, *flags, source="library.c"):
    path = shop.path / "plugins" / name
    path.parent.mkdir(exist_ok=True)
    expect(run(BIN / "mpicc", "-shared", "-fPIC", "-O1", "-g", "-o", path, HERE / source, *flags), 0)
    return path


def plugins(shop):
    """Builds the plugins and their libraries; returns their folder and the program."""
    folder = shop.path / "plugins"
    here = (f"-L{folder}", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined")
    if not folder.exists():
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
        library(shop, "fixed.so", "-DPREFIX=fixed", '-DTHREAD="initial-exec"')
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
