#!/usr/bin/env python3
"""A cluster on one machine, for tests that must cross a real network stack (needs root, iproute2 and util-linux).

    cluster.py run N CMD…             make hosts host1..hostN, run CMD on a further one named front, remove everything
    cluster.py ssh [-opt…] HOST CMD…  run CMD on a host, over the network, behind ssh's command line
    cluster.py exec HOST CMD…         run CMD in a host's namespaces, not over the network
    cluster.py cut HOST               take a host's link down
    cluster.py mend HOST              take it up again

A host has namespaces of its own for network, names, processes, IPC and mounts: its own host name, /dev/shm and link to a
switch, which is a bridge in a namespace of its own. Nothing has a name outside, so clusters do not get in each other's way,
and everything goes when the processes that hold the namespaces do, which happens whatever becomes of `run`.
The four commands work inside of `run`, which leaves a description of the cluster in the file that CLUSTER_OF_HOSTS names.
CLUSTER_RSH names a command like ssh that enters a host's namespaces directly, in a few milliseconds.
"""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

NET, SECOND_NET = "10.77.0", "10.78.0"
FRONT = "front"
PORT = 22
LIMIT_S = 20
# Runs the rest of the command line in the folder that follows.
HERE = ["sh", "-c", 'cd "$0" && exec "$@"']
# What a fresh login gets, whatever the caller of ssh has.
LOGIN = {"HOME": "/root", "USER": "root", "SHELL": "/bin/sh", "PATH": "/usr/local/bin:/usr/bin:/bin"}


def missing():
    """Returns why there can be no cluster on this machine, or None."""
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    for tool, package in [("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux"), ("mount", "mount")]:
        if not shutil.which(tool):
            return f"needs {tool} ({package})"
    trial = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c",
                            "ip link add end0 type veth peer name end1 && ip link add trial0 type bridge"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if trial.returncode:
        return f"no network namespaces with bridges here: {' '.join(trial.stdout.split())}"
    return None


def die_with_parent():
    """Asks the kernel to end this process with the one that started it."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Cluster:
    """Hosts and the switch between them; a context manager."""

    def __init__(self, count):
        self.names = [f"host{i}" for i in range(1, count + 1)] + [FRONT]
        self.addresses = {name: f"{NET}.{i}" for i, name in enumerate(self.names[:-1], 1)} | {FRONT: f"{NET}.254"}
        self.held, self.pids = {}, {}
        self.folder = Path(tempfile.mkdtemp(prefix="weft-cluster."))

    def __enter__(self):
        try:
            hosts = "".join(f"{address} {name}\n" for name, address in self.addresses.items())
            (self.folder / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n" + hosts)
            self.hold("switch", ["--net"])
            for name in self.names[:-1]:
                self.hold(name, ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            # The one the tests run on sees the processes of all hosts.
            self.hold(FRONT, ["--net", "--uts", "--ipc", "--mount"])
            self.connect()
            for holder in self.held.values():
                holder.stdin.write(b"go\n")
                holder.stdin.flush()
            for name, holder in self.held.items():
                if holder.stdout.readline() != b"up\n":
                    raise RuntimeError(f"{name} does not come up")
            for name in self.names:
                self.pids[name] = self.inner(name)
            self.write()
        except BaseException:
            self.__exit__()
            raise
        return self

    def hold(self, name, namespaces):
        command = ["unshare", *namespaces, sys.executable, __file__, "hold", name, str(self.folder)]
        self.held[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           preexec_fn=die_with_parent)
        if self.held[name].stdout.readline() != b"held\n":
            raise RuntimeError(f"no namespaces for {name}")
        self.pids[name] = self.held[name].pid

    def inner(self, name):
        """Returns the process that is in all of a host's namespaces: of `unshare --fork` it is the child."""
        pid = self.held[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else pid

    def connect(self):
        switch = self.pids["switch"]
        lines = ["link add br0 type bridge", "link set br0 up"]
        for i, name in enumerate(self.names):
            lines.append(f"link add port{i} type veth peer name eth0 netns {self.pids[name]}")
            lines.append(f"link set port{i} master br0 up")
        batch = "\n".join(lines).encode()
        subprocess.run(["nsenter", "-t", str(switch), "-n", "ip", "-batch", "-"], input=batch, check=True)

    def write(self):
        description = {"pids": self.pids, "addresses": self.addresses,
                       "ports": {name: f"port{i}" for i, name in enumerate(self.names)}}
        (self.folder / "cluster.json").write_text(json.dumps(description))
        # The way to a host for those who start many jobs: not over the network, and in a few milliseconds.
        cases = "\n".join(f"{name}) pid={self.pids[name]} ;;" for name in self.names)
        rsh = self.folder / "rsh"
        rsh.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n'
                       f'case $1 in\n{cases}\n*) echo "rsh: no such host: $1" >&2; exit 255 ;;\nesac\nshift\n'
                       'exec nsenter -t $pid -n -u -i -m -p -- sh -c "cd; $*"\n')
        rsh.chmod(0o755)
        os.environ["CLUSTER_RSH"] = str(rsh)
        os.environ["CLUSTER_OF_HOSTS"] = str(self.folder / "cluster.json")

    def __exit__(self, *_):
        front = self.pids.get(FRONT)
        if front:
            # What was started on the front host is not in a process namespace of its own.
            with contextlib.suppress(OSError):
                for pid in in_namespace("net", os.stat(f"/proc/{front}/ns/net").st_ino):
                    if pid not in (front, os.getpid()):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
        for holder in self.held.values():
            holder.kill()
        for holder in self.held.values():
            holder.wait(LIMIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command):
        """Runs a command on the front host; returns its exit code."""
        front = str(self.pids[FRONT])
        # Entering the mounts leaves the working directory.
        process = subprocess.Popen(["nsenter", "-t", front, "-n", "-u", "-i", "-m", "--", *HERE, os.getcwd(), *command],
                                   preexec_fn=die_with_parent)
        try:
            return process.wait()
        finally:
            process.kill()
            process.wait()


def in_namespace(kind, number):
    """Lists the processes in a namespace."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(entry / "ns" / kind).st_ino == number:
                    found.append(int(entry.name))
    return sorted(found)


def description():
    path = os.environ.get("CLUSTER_OF_HOSTS")
    if not path:
        sys.exit("cluster: not inside of `cluster.py run` (CLUSTER_OF_HOSTS is not set)")
    return json.loads(Path(path).read_text())


def pid_of(name):
    """Returns the process that holds a host."""
    pids = description()["pids"]
    if name not in pids:
        sys.exit(f"cluster: no such host: {name}")
    return pids[name]


def processes(name):
    """Lists the processes of a host, but for the one that holds it; by their numbers outside."""
    holder = pid_of(name)
    # The front has no numbers of its own.
    kind = "net" if name == FRONT else "pid"
    return [pid for pid in in_namespace(kind, os.stat(f"/proc/{holder}/ns/{kind}").st_ino) if pid != holder]


def folder(name, path):
    """Returns a path of a host as seen from outside."""
    return Path(f"/proc/{pid_of(name)}/root{path}")


def set_port(port, state):
    switch = str(pid_of("switch"))
    subprocess.run(["nsenter", "-t", switch, "-n", "ip", "link", "set", port, state], check=True)


def link(name, state):
    set_port(description()["ports"][name], state)


def cut(name):
    link(name, "down")


def mend(name):
    link(name, "up")


@contextlib.contextmanager
def second_links(names):
    """Gives hosts a second interface each, eth1, on a switch of its own, for a while."""
    pids = description()["pids"]
    enter = lambda name: ["nsenter", "-t", str(pid_of(name)), "-n", "ip", "-batch", "-"]
    batch = lambda name, *lines: subprocess.run(enter(name), input="\n".join(lines).encode(), check=True)
    batch("switch", "link add br1 type bridge", "link set br1 up")
    try:
        for number, name in enumerate(names, 1):
            batch("switch", f"link add second{number} type veth peer name eth1 netns {pids[name]}",
                  f"link set second{number} master br1 up")
            batch(name, f"addr add {SECOND_NET}.{number}/24 dev eth1", "link set eth1 up")
        yield {name: f"second{number}" for number, name in enumerate(names, 1)}
    finally:
        # A link goes with one of its ends.
        batch("switch", *(f"link del second{number}" for number in range(1, len(names) + 1)), "link del br1")


def bytes_sent(name, interface):
    """Returns how many bytes a host has sent over an interface."""
    command = ["nsenter", "-t", str(pid_of(name)), "-n", "ip", "-s", "-json", "link", "show", interface]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)[0]["stats64"]["tx"]["bytes"]


def inside(name, command):
    """Returns the command that runs another in a host's namespaces."""
    return ["nsenter", "-t", str(pid_of(name)), "-n", "-u", "-i", "-m", "-p", "--", *HERE, os.getcwd(), *command]


# ---- a host, as the process that holds it ----

def hold(name, folder):
    """Holds namespaces; on a host, serves `ssh`. Ends with the process that started it."""
    print("held", flush=True)
    if sys.stdin.readline() != "go\n":
        return
    if name != "switch":
        socket.sethostname(name)
        address = next(line.split()[0] for line in (Path(folder) / "hosts").read_text().splitlines()
                       if line.split()[1] == name)
        for command in [["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"],
                        ["mount", "--bind", f"{folder}/hosts", "/etc/hosts"],
                        ["ip", "link", "set", "lo", "up"], ["ip", "addr", "add", f"{address}/24", "dev", "eth0"],
                        ["ip", "link", "set", "eth0", "up"]]:
            subprocess.run(command, check=True)
        if name != FRONT:
            Server(address).start()
    print("up", flush=True)
    sys.stdin.read()


def pack(kind, data):
    return kind + struct.pack("<I", len(data)) + data


def receive(stream):
    """Reads a piece; None at the end of the connection."""
    head = stream.read(5)
    if len(head) < 5:
        return None
    size = struct.unpack("<I", head[1:])[0]
    data = stream.read(size)
    return (head[:1], data) if len(data) == size else None


class Server:
    """Runs commands for `ssh`. It is the first process of its host, and so gets what others leave behind."""

    def __init__(self, address):
        self.listener = socket.create_server((address, PORT))
        self.codes, self.changed = {}, threading.Condition()

    def start(self):
        for work in self.reap, self.accept:
            threading.Thread(target=work, daemon=True).start()

    def reap(self):
        while True:
            try:
                pid, status = os.wait()
            except ChildProcessError:
                with self.changed:
                    self.changed.wait(0.2)
                continue
            with self.changed:
                self.codes[pid] = os.waitstatus_to_exitcode(status)
                self.changed.notify_all()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        piece = receive(stream)
        if piece is None:
            return
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        actions = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(theirs)]
        actions += [(os.POSIX_SPAWN_CLOSE, fd) for pair in pipes for fd in pair]
        command = ["/bin/sh", "-c", 'cd; exec /bin/sh -c "$0"', piece[1].decode()]
        with self.changed:
            pid = os.posix_spawn(command[0], command, LOGIN, file_actions=actions, setpgroup=0)
            self.changed.notify_all()
        for fd in theirs:
            os.close(fd)
        lock = threading.Lock()

        def send(kind, data):
            with lock:
                connection.sendall(pack(kind, data))

        def forward(kind, fd):
            with contextlib.suppress(OSError):
                while data := os.read(fd, 65536):
                    send(kind, data)
            os.close(fd)

        def feed(fd):
            with contextlib.suppress(OSError):
                while (piece := receive(stream)) and piece[1]:
                    data = piece[1]
                    while data:
                        data = data[os.write(fd, data):]
            os.close(fd)

        outputs = [threading.Thread(target=forward, args=[kind, pair[0]], daemon=True)
                   for kind, pair in ((b"o", pipes[1]), (b"e", pipes[2]))]
        for thread in [*outputs, threading.Thread(target=feed, args=[pipes[0][1]], daemon=True)]:
            thread.start()
        for thread in outputs:
            thread.join()
        with self.changed:
            self.changed.wait_for(lambda: pid in self.codes)
            code = self.codes.pop(pid)
        with contextlib.suppress(OSError):
            send(b"x", str(code if code >= 0 else 128 - code).encode())
            connection.shutdown(socket.SHUT_RDWR)


# ---- the command line ----

def ssh(arguments):
    """Runs a command on a host as ssh does: its three streams and its exit code."""
    while arguments and arguments[0].startswith("-"):
        with_value = len(arguments[0]) == 2 and arguments[0][1] in "BbcDEeFIiJLlmOopQRSWw"
        arguments = arguments[2 if with_value else 1:]
    if len(arguments) < 2:
        sys.exit("usage: cluster.py ssh [-opt…] HOST CMD…")
    name = arguments[0].split("@")[-1]
    try:
        connection = socket.create_connection((name, PORT), timeout=LIMIT_S)
    except OSError as error:
        print(f"ssh: connect to host {name} port {PORT}: {error}", file=sys.stderr)
        return 255
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(pack(b"c", " ".join(arguments[1:]).encode()))

    def feed():
        with contextlib.suppress(OSError):
            while data := os.read(0, 65536):
                connection.sendall(pack(b"i", data))
            connection.sendall(pack(b"i", b""))

    threading.Thread(target=feed, daemon=True).start()
    stream = connection.makefile("rb")
    with contextlib.suppress(OSError):
        while piece := receive(stream):
            kind, data = piece
            if kind == b"x":
                return int(data)
            target = 1 if kind == b"o" else 2
            while data:
                data = data[os.write(target, data):]
    print(f"ssh: connection to {name} closed", file=sys.stderr)
    return 255


def run(arguments):
    count = int(arguments[0])
    command = arguments[2:] if arguments[1] == "--" else arguments[1:]
    reason = missing()
    if reason:
        sys.exit(f"cluster: {reason}")
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda *_: sys.exit(128 + number))
    with Cluster(count) as cluster:
        return cluster.run(command)


def main():
    match sys.argv[1:]:
        case ["run", count, _, *_] if count.isdigit() and int(count) in range(1, 201):
            return run(sys.argv[2:])
        case ["ssh", *arguments]:
            # Ends at once, whatever its threads wait for.
            code = ssh(arguments)
            sys.stdout.flush()
            os._exit(code)
        case ["exec", name, *command] if command:
            os.execvp("nsenter", inside(name, command))
        case ["cut", name]:
            cut(name)
        case ["mend", name]:
            mend(name)
        case ["hold", name, folder]:
            hold(name, folder)
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
