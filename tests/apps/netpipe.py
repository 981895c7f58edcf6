"""NetPIPE: messages of all sizes between two ranks, whose content it checks."""
import re

from archive import run, unpack
from lib import Failed, tail


def build(options, apt):
    source = unpack(apt.source("netpipe"), options.out / "netpipe")
    code, output = run(["make", "mpi", f"MPICC={' '.join(options.mpicc)}", "CFLAGS=-O2 -w"], cwd=source)
    if code or not (source / "NPmpi").exists():
        raise Failed(f"build: {tail(output)}")
    return source / "NPmpi"


def measure(options, program, *arguments, integrity=False):
    folder = options.out / "netpipe-run"
    folder.mkdir(parents=True, exist_ok=True)
    code, output = run([*options.mpirun, "-n", "2", program, *arguments], cwd=folder, timeout=options.timeout)
    if code:
        raise Failed(f"exit code {code}: {tail(output)}")
    if "Integrity check failed" in output:
        raise Failed(tail(output))
    lines = re.findall(r"^\s*\d+:\s+(\d+) bytes\s+(.*)$", output, re.M)
    if len(lines) < 20:
        raise Failed(f"measured only {len(lines)} sizes: {tail(output)}")
    if integrity and not all("passed" in line[1] for line in lines):
        raise Failed(f"integrity: {tail(output)}")
    return f"{len(lines)} sizes up to {lines[-1][0]} bytes: {lines[-1][1].strip()}"


def tests(options, apt, test):
    """Builds NetPIPE and runs it."""
    netpipe = test("netpipe build", lambda: build(options, apt))
    if netpipe:
        test("netpipe integrity", lambda: measure(options, netpipe, "-i", "-u", "1000000", integrity=True))
        test("netpipe ping-pong", lambda: measure(options, netpipe, "-u", "1000000", "-n", "100"))
        test("netpipe both ways, preposted", lambda: measure(options, netpipe, "-2", "-a", "-u", "1000000", "-n", "100"))
