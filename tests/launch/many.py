"""Many ranks: what limits of the system say about them."""
import re
from pathlib import Path

from lib import BIN, BUILD, Skip, expect, mpirun, run

HERE = Path(__file__).resolve().parent


def number(path):
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def need(ranks):
    """Skips the test where the system does not permit so many ranks, each a thread."""
    for path in ("/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max", "/sys/fs/cgroup/pids.max"):
        limit = number(path)
        if limit is not None and limit < ranks + 2000:
            raise Skip(f"{path} is {limit}")
    text = Path("/proc/meminfo").read_text()
    free = int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) >> 10
    if free < 100 + ranks // 8:
        raise Skip(f"{free} MiB of memory are available")


def test_ten_thousand_ranks_fit_into_the_default_number_of_mappings(shop):
    need(10000)
    result = expect(mpirun("-n", "10000", BUILD / "examples" / "hello"), 0)
    assert len(result.out.splitlines()) == 10000, result


def mappings(shop, *options):
    """Runs a program with a private library; returns how many mappings a process of so many ranks has."""
    library = shop.path / "libprivate.so"
    if not library.exists():
        source = shop.write("private.c", "int number = 1, zero[5000]; int next(void) { return number++ + zero[7]; }")
        expect(run("gcc", "-shared", "-fPIC", "-o", library, source), 0)
    program = shop.compile(HERE / "mappings.c", f"-L{shop.path}", "-lprivate", f"-Wl,-rpath,{shop.path}")
    return lambda ranks: mpirun(*options, "-n", str(ranks), program)


def test_the_mappings_a_rank_needs_are_counted_exactly(shop):
    limit = number("/proc/sys/vm/max_map_count")
    if limit is None or limit > 100_000:
        raise Skip(f"vm.max_map_count is {limit}: no number of ranks is refused for it")
    for options in ([], ["--scheduler", "kernel"]):
        start = mappings(shop, *options)
        few, many = (int(expect(start(ranks), 0).out) for ranks in (50, 250))
        need(25000)
        said = re.search(r"25000 ranks need (\d+) memory mappings \((\d+) each\)", expect(start(25000), 1).err)
        assert said, "25000 ranks were not refused for their mappings"
        each = int(said[2])
        # Neighbouring stacks for signals may become one mapping, and the heap takes one now and then.
        taken = (many - few) / 200
        least = each - 1 if options else each - 0.1
        assert least <= taken <= each + 0.1, f"{each} announced, {taken} taken"
        assert each <= 5, f"a program with a library takes {each}"
