"""Jobs on hosts: how they are started, what is left of them, and what can happen to them."""
import contextlib
import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path

from lib import BIN, cluster, is_part, run, temporary_files


HERE = Path(__file__).resolve().parent
HOSTS = ["host1", "host2", "host3", "host4"]
SSH = f"{HERE}/cluster.py ssh"
# Seconds until a silent host is lost, and what its end may take besides.
HEARTBEAT_S, SLACK_S = 4, 10
# Ways of running ranks on hosts.
WAYS = [], ["-rr"], ["--ranks-as", "processes"], ["--ranks-per-process", "2"]
FAULT = HERE.parent / "faults/fault.c"
ROUNDS = 1 if is_part() else 2
if "--rounds" in sys.argv:
    at = sys.argv.index("--rounds")
    ROUNDS = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]


def words(*more):
    return [BIN / "mpirun", "--launcher-exec", SSH, "--set", f"heartbeat={HEARTBEAT_S}", *more]


def mpirun(*more, **options):
    """Runs mpirun on the front host, where no rank is."""
    return run(*words(*more), **options)


@contextlib.contextmanager
def hidden(host, path, shop):
    """Hides a folder of a host behind an empty one."""
    empty = shop.path / "empty"
    empty.mkdir(exist_ok=True)
    subprocess.run(cluster.inside(host, ["mount", "--bind", str(empty), str(path)]), check=True)
    try:
        yield
    finally:
        subprocess.run(cluster.inside(host, ["umount", str(path)]), check=True)


class Job:
    """A job on all hosts that runs until something happens to it."""

    def __init__(self, *program, options=(), ready=2 * len(HOSTS)):
        program = program or ("sh", "-c", "echo ready; exec sleep 300")
        self.before = {host: left(host) for host in [*HOSTS, cluster.FRONT]}
        line = words("-hosts", ",".join(HOSTS), "-n", 2 * len(HOSTS), *options, *program)
        self.process = subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(ready):
            assert self.process.stdout.readline() == b"ready\n", self.process.stderr.read()

    def fate(self):
        """Returns exit code and standard error of mpirun, wherever something else may still be."""
        _, err = self.process.communicate(timeout=HEARTBEAT_S + SLACK_S)
        return self.process.returncode, err.decode(errors="replace")

    def end(self):
        """Waits for the end of mpirun and of everything on all hosts; returns exit code and standard error, and keeps what else
        was printed."""
        self.out, err = self.process.communicate(timeout=HEARTBEAT_S + SLACK_S)
        late = time.monotonic() + HEARTBEAT_S + SLACK_S
        for host in self.before:
            while more := left(host, self.before[host]):
                assert time.monotonic() < late, f"left on {host}: {more}"
                select.select([], [], [], 0.02)
        return self.process.returncode, err.decode(errors="replace")


def command_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def left(host, before=frozenset()):
    """What a job could leave on a host and was not there before; memory without a name goes with the last process that has
    it. Processes are known by their numbers: some change what their command seems to be."""
    processes = {f"{pid} {command_of(pid)}" for pid in cluster.processes(host)}
    memory = {str(path) for path in cluster.folder(host, "/dev/shm").iterdir()}
    # All hosts have the machine's own, where other tests may be at work.
    known = {what.split(" ")[0] for what in before}
    return {what for what in processes | memory | temporary_files() if what.split(" ")[0] not in known}


def of(host, part):
    """Returns the processes of a host whose command has this part."""
    return [pid for pid in cluster.processes(host) if part in command_of(pid)]


def agents(host):
    """Returns the agent's processes: the guard, and the one that works."""
    return sorted(pid for pid in cluster.processes(host) if command_of(pid) == f"{BIN}/mpirun --agent")


def moment(chance):
    """Lets some time pass."""
    time.sleep(chance.random() * chance.choice([0.01, 0.1, 0.5]))


def rounds():
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        yield chance


def listening(host):
    """Returns the ports on which node processes of a host listen."""
    pid = of(host, "weft-node")[0]
    lines = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    ports = {int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A"} - {cluster.PORT}
    assert ports, f"nobody listens on {host}"
    return ports


def mpi_job(shop, what, *options):
    """Starts two ranks on each host that wait in MPI or compute until something happens."""
    return Job(shop.compile(FAULT), what, options=options, ready=1)
