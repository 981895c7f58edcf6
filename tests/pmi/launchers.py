"""Launchers of others that start programs by PMI: Hydra of MPICH and of Intel MPI, Slurm, and a small one of our own."""
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import BUILD, LIMIT_S, Skip, run  # noqa: E402

HOME = BUILD / "tests/pmi"
# A package of the index may be large.
INSTALL_S = 600
# Packages of the Python package index.
PACKAGES = {"mpich": "mpich==5.0.2", "intel": "impi-rt==2021.18.1"}


def fetch(name):
    """Installs a package of the index into a folder of its own; returns its mpiexec.hydra."""
    folder, reason = HOME / name, HOME / f"{name}.reason"
    hydra = folder / "bin/mpiexec.hydra"
    if (folder / "ready").exists():
        return hydra
    if reason.exists() and time.time() - reason.stat().st_mtime < 600:
        raise Skip(reason.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pip = HOME / "environment/bin/pip"
    steps = [] if pip.exists() else [[sys.executable, "-m", "venv", HOME / "environment"]]
    steps += [[pip, "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--prefix", folder, "--timeout", "20",
               "--retries", "1", PACKAGES[name]]]
    for step in steps:
        done = run(*step, limit_s=INSTALL_S, is_merged=True)
        if done.code:
            reason.write_text(f"{PACKAGES[name]} cannot be had: {done.out.strip()[-200:]}")
            raise Skip(reason.read_text())
    (folder / "ready").touch()
    return hydra


class Hydra:
    """mpiexec.hydra, perhaps with options."""

    def __init__(self, package, *options):
        self.package, self.options = package, list(options)

    def command(self):
        """Returns the words that come before `-n`."""
        return [str(fetch(self.package)), *self.options]

    def stop(self):
        pass


class Ours:
    """A launcher as small as can be: it speaks PMI-1 over PMI_FD, as Flux does, and does not say which rank is on which host."""

    def command(self):
        return [sys.executable, str(Path(__file__).resolve()), "launch"]

    def stop(self):
        pass


class Slurm:
    """A cluster of this machine: munged, slurmctld and slurmd in a folder of their own."""

    TOOLS = ["munged", "slurmctld", "slurmd", "srun"]
    # Which of these a slurmd takes depends on its version and the machine.
    GROUPS = ["disabled", "cgroup/v1", "cgroup/v2"]

    def __init__(self, *options):
        self.options, self.home, self.reason, self.guard = list(options), None, None, None

    def command(self):
        if self.reason:
            raise Skip(self.reason)
        if not self.home:
            try:
                self.start()
            except Skip as reason:
                self.reason = str(reason)
                self.stop()
                raise
        os.environ["SLURM_CONF"] = str(self.home / "slurm.conf")
        return ["srun", *self.options]

    def start(self):
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        missing = [tool for tool in self.TOOLS if not shutil.which(tool)]
        if missing:
            raise Skip(f"there is no {', '.join(missing)} on this machine")
        if os.geteuid():
            raise Skip("slurmd wants to be root")
        # Short, because of the socket's name.
        self.home = Path(subprocess.check_output(["mktemp", "-d", "/tmp/weft-slurm-XXXXXX"], text=True).strip())
        self.guard = Guard(self.home)
        home, host = self.home, socket.gethostname().split(".")[0]
        for folder in ("state", "spool"):
            (home / folder).mkdir()
        (home / "key").write_bytes(os.urandom(1024))
        (home / "key").chmod(0o600)
        (home / "slurm.conf").write_text(f"""
ClusterName=weft
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
MpiDefault=pmi2
ReturnToService=2
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=256 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
""")
        self.daemon("munged", "--force", f"--key-file={home}/key", f"--socket={home}/munge.socket",
                    f"--pid-file={home}/munged.pid", f"--log-file={home}/munged.log", f"--seed-file={home}/seed")
        self.daemon("slurmctld", "-c", "-f", home / "slurm.conf")
        for groups in self.GROUPS:
            (home / "cgroup.conf").write_text(f"CgroupPlugin={groups}\nIgnoreSystemd=yes\nCgroupAutomount=no\n")
            self.daemon("slurmd", "-f", home / "slurm.conf")
            if self.wait_until_idle():
                return
        log = (home / "slurmd.log").read_text() if (home / "slurmd.log").exists() else "no log"
        raise Skip(f"slurmd does not run here: {' | '.join(log.splitlines()[-3:])}")

    def daemon(self, *words):
        """Starts a daemon, below the guard."""
        code, error = self.guard.run([str(word) for word in words], dict(os.environ, SLURM_CONF=str(self.home / "slurm.conf")))
        if code and words[0] != "slurmd":
            raise Skip(f"{words[0]} does not run here: {error.strip()[-200:]}")

    def wait_until_idle(self):
        """Waits for the node to register; one that has ended will not."""
        environment = {"SLURM_CONF": str(self.home / "slurm.conf")}
        until = time.monotonic() + 8
        while time.monotonic() < until:
            if "idle" in run("sinfo", "-h", "-o", "%T", environment=environment).out:
                return True
            if not any(alive(pid) for pid in pids(self.home / "slurmd.pid")) and time.monotonic() > until - 6:
                return False
            time.sleep(0.1)
        return False

    def stop(self):
        if self.guard:
            self.guard.end()
            self.guard = self.home = None


class Guard:
    """A process that starts daemons and, when whoever made it has ended, however that was, ends all of them and what they have
    started, and removes their folder. It is their parent whatever they do: orphans below it become its children."""

    def __init__(self, folder):
        words = [sys.executable, str(Path(__file__).resolve()), "guard", str(folder)]
        # Not of the group that a terminal, or whoever ends the test, sends signals to.
        self.process = subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)

    def run(self, words, environment):
        """Runs a command to its end; returns its exit code and what it says on standard error."""
        self.process.stdin.write(json.dumps([words, environment]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Ends it, and all below it."""
        self.process.stdin.close()
        self.process.wait()


def guard(folder):
    """Is the process of a Guard."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        for line in sys.stdin:
            words, environment = json.loads(line)
            done = subprocess.run(words, text=True, capture_output=True, stdin=subprocess.DEVNULL, env=environment, cwd="/",
                                  timeout=LIMIT_S)
            print(json.dumps([done.returncode, done.stderr]), flush=True)
    finally:
        # Those whose parent has just been killed come to us, and their turn comes with the next round.
        while children := Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
            for child in children:
                send(int(child), signal.SIGKILL)
            os.wait()
        shutil.rmtree(folder, ignore_errors=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def pids(path):
    return [int(path.read_text())] if path.exists() and path.read_text().strip() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def send(pid, what):
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        pass


class Server:
    """The side of our own launcher that answers ranks."""

    def __init__(self, size):
        self.size, self.values, self.lock = size, {}, threading.Lock()
        self.barrier = threading.Barrier(size)
        self.aborted = None
        self.finished = set()

    def serve(self, rank, connection):
        for line in connection.makefile("r"):
            request = dict(word.split("=", 1) for word in line.split())
            answer = self.answer(rank, request)
            if answer:
                connection.sendall(f"{answer}\n".encode())
            if request["cmd"] in ("abort", "finalize"):
                connection.close()
                return

    def answer(self, rank, request):
        match request["cmd"]:
            case "init":
                return "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"
            case "get_maxes":
                return "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=512"
            case "get_appnum":
                return "cmd=appnum rc=0 appnum=0"
            case "get_universe_size":
                return f"cmd=universe_size rc=0 size={self.size}"
            case "get_my_kvsname":
                return "cmd=my_kvsname rc=0 kvsname=here"
            case "put":
                with self.lock:
                    self.values[request["key"]] = request["value"]
                return "cmd=put_result rc=0"
            case "get":
                value = self.values.get(request["key"])
                return f"cmd=get_result rc=0 value={value}" if value is not None else "cmd=get_result rc=-1"
            case "barrier_in":
                self.barrier.wait()
                return "cmd=barrier_out rc=0"
            case "finalize":
                self.finished.add(rank)
                return "cmd=finalize_ack rc=0"
            case "abort":
                self.aborted = int(request["exitcode"])
        return None


def launch(words):
    """Runs `-n N PROGRAM…` with a server for each rank; returns the job's exit code."""
    size, program = int(words[1]), words[2:]
    server, ranks = Server(size), []
    for rank in range(size):
        near, far = socket.socketpair()
        environment = dict(os.environ, PMI_FD=str(far.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(size), PMI_SPAWNED="0")
        ranks.append(subprocess.Popen(program, env=environment, pass_fds=[far.fileno()]))
        far.close()
        threading.Thread(target=server.serve, args=(rank, near), daemon=True).start()
    code = 0
    while ranks:
        ended = [process for process in ranks if process.poll() is not None]
        ranks = [process for process in ranks if process not in ended]
        code = code or next((process.returncode for process in ended if process.returncode), 0)
        if server.aborted is not None or code:
            for process in ranks:
                process.kill()
                process.wait()
            return server.aborted or (code if code > 0 else 128 - code)
        time.sleep(0.01)
    return code


LAUNCHERS = {
    "hydra of MPICH": Hydra("mpich"),
    "hydra of MPICH by a port": Hydra("mpich", "-pmi-port"),
    "hydra of Intel MPI": Hydra("intel"),
    # Three hosts as far as the ranks are told; they talk over the network.
    "hydra of MPICH on three hosts": Hydra("mpich", "-hosts", "a:2,b:1,c:3", "-launcher", "fork", "-genv", "WEFT_NET_INCLUDE",
                                           "127.0.0.1"),
    "our own launcher": Ours(),
    "Slurm": Slurm("--mpi=pmi2", "--overcommit", "--quiet"),
}


def start(launcher, ranks, *words, environment=None):
    """Runs a job to its end."""
    return run(*launcher.command(), "-n", ranks, *words, environment=environment)


def hold():
    """Has a Slurm cluster, whose folder it names, until it is ended."""
    slurm = Slurm()
    try:
        slurm.command()
        print(slurm.home, flush=True)
    except Skip as reason:
        print(f"skip: {reason}", flush=True)
    signal.pause()


__all__ = ["LAUNCHERS", "Hydra", "start"]

if __name__ == "__main__":
    what, *words = sys.argv[1:]
    sys.exit({"launch": lambda: launch(words), "guard": lambda: guard(*words), "hold": hold}[what]())
