"""Where ranks run, what passes to and fro, OpenSSH, and what mpirun says when something is missing."""
import contextlib
import os
import select
import shutil
import signal
import subprocess
import time

from lib import BIN, LIMIT_S, Skip, cluster, expect, run
from jobs import HEARTBEAT_S, HERE, HOSTS, SSH, hidden, left, mpirun, of, words


def names(*more, environment=None):
    """Returns the hosts of ranks 0, 1, …"""
    result = expect(mpirun("-l", *more, "hostname", environment=environment), 0)
    lines = dict(line.split() for line in result.out.splitlines())
    return [lines[f"[{rank}]"].removeprefix("host") for rank in range(len(lines))]


def test_hosts_are_filled_evenly_or_in_turns(shop):
    assert "".join(names("-hosts", "host1,host2", "-n", 4)) == "1122"
    assert "".join(names("-hosts", "host[1-3]", "-n", 5, "-rr")) == "12312"
    assert "".join(names("-hosts", "host1:3,host2:1", "-n", 5)) == "11121"
    assert "".join(names("-hosts", "host1,host2", "-ppn", 2, "-n", 4)) == "1122"
    assert "".join(names("-hosts", "host1,host2", "--map-by", "ppr:2:node")) == "1122"


def test_files_of_hosts_and_ranks(shop):
    hosts = shop.write("hosts", "# both\nhost2 slots=2 max_slots=2\nhost1:1\n")
    assert "".join(names("-f", hosts, "-n", 4)) == "2211"
    assert "".join(names("-f", hosts)) == "221"
    ranks = shop.write("ranks", "rank 1=host3 slot=0\nrank 0=+n1\n")
    assert "".join(names("-f", hosts, "-rankfile", ranks, "-n", 2)) == "13"
    wrong = shop.write("wrong", "host1\nhost2 slots=many\n")
    expect(mpirun("-f", wrong, "hostname"), 2, err=[f"{wrong}:2: ", "\"many\" is no number of slots"])
    expect(mpirun("-f", shop.path / "absent", "hostname"), 2, err=[str(shop.path / "absent")])
    few = mpirun("-hosts", "host1:1", "--nooversubscribe", "-n", 2, "hostname")
    expect(few, 2, err="2 ranks for 1 slots on 1 hosts")


def test_schedulers_name_the_hosts(shop):
    file = shop.write("nodes", "host2\nhost2\nhost1\n")
    for environment, expected in [
        ({"HYDRA_HOST_FILE": str(file)}, "221"),
        ({"PBS_NODEFILE": str(file)}, "221"),
        ({"SLURM_JOB_NODELIST": "host[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}, "1122"),
        ({"LSB_MCPU_HOSTS": "host3 1 host1 2"}, "311"),
    ]:
        assert "".join(names(environment=environment)) == expected, environment
    hydra = {"HYDRA_HOST_FILE": str(file), "HYDRA_LAUNCHER_EXEC": SSH}
    expect(run(BIN / "mpirun", "-n", 1, "hostname", environment=hydra), 0, out="host2")


def test_programs_have_hosts_of_their_own(shop):
    result = mpirun("-hosts", "host1", "-n", 1, "hostname", ":", "-hosts", "host2", "-n", 2, "hostname")
    expect(result, 0, lines=["host1", "host2", "host2"])


def test_a_tree_of_agents_reaches_all(shop):
    expect(mpirun("-hosts", "host[1-4]", "--set", "launch-width=1", "-n", 4, "hostname"), 0, lines=HOSTS)


def test_input_goes_to_rank_0_and_output_comes_back(shop):
    text = "".join(f"line {i}\n" for i in range(50000))
    result = expect(mpirun("-hosts", "host2,host1", "-n", 2, "cat", stdin=text), 0)
    assert result.out == text
    script = "seq 1 20000; echo bad >&2"
    result = expect(mpirun("-hosts", "host1,host2", "-n", 4, "sh", "-c", script), 0)
    assert sorted(result.out.split(), key=int) == sorted([str(i) for i in range(1, 20001)] * 4, key=int)
    assert result.err.count("bad") == 4


def test_output_that_nobody_reads_does_not_end_the_job(shop):
    job = subprocess.Popen([str(word) for word in words("-hosts", "host1", "-n", 1, "sh", "-c", "seq 1 2000000")],
                           stdout=subprocess.PIPE)
    # Longer than a silent host is waited for.
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(2 * HEARTBEAT_S)
    out, _ = job.communicate(timeout=LIMIT_S)
    assert job.returncode == 0 and out.endswith(b"\n2000000\n"), job.returncode


def test_output_is_tagged_and_written_to_files(shop):
    script = "echo $WEFT_TEST"
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "-l", "-genv", "WEFT_TEST", "a b", "sh", "-c", script), 0,
           lines=["[0] a b", "[1] a b"])
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "--output-filename", shop.path / "%h-%r", "hostname"), 0, lines=[])
    assert [(shop.path / name).read_text() for name in ("host1-0", "host2-1")] == ["host1\n", "host2\n"]


def test_output_of_ranks_that_are_threads_is_told_apart(shop):
    program = shop.compile(HERE.parent / "launch" / "words.c")
    for way in ([], ["--ranks-per-process", "2"]):
        threads = ("-hosts", "host1,host2", "-n", 8, "-ppn", 4, *way)
        expect(mpirun(*threads, "-l", program), 0, lines=[f"[{rank}] {rank} of 8" for rank in range(8)])
        pattern = shop.path / f"threads{len(way)}-%h-%r"
        expect(mpirun(*threads, "-outfile-pattern", pattern, program), 0, lines=[])
        for rank in range(8):
            name = f"threads{len(way)}-host{rank // 4 + 1}-{rank}"
            assert (shop.path / name).read_text() == f"{rank} of 8\n", name


def test_environment_and_directory_are_those_of_mpirun(shop):
    result = mpirun("-hosts", "host2", "-n", 1, "sh", "-c", "pwd; echo $OF_MPIRUN", directory=shop.path,
                    environment={"OF_MPIRUN": "x'y z"})
    expect(result, 0, lines=[str(shop.path), "x'y z"])


def test_exit_codes_come_back(shop):
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "sh", "-c", "exit 7"), 7, err="rank ")
    result = mpirun("-hosts", "host1,host2", "-n", 2, "sh", "-c", 'case $(hostname) in host2) kill -9 $$;; esac; sleep 60')
    expect(result, 137, err=["rank 1 on host2", "SIGKILL"])
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "--timeout", "1", "sleep", "60"), 124, err="--timeout")


SSH_PORT = 2222


@contextlib.contextmanager
def daemons(shop, hosts):
    """Runs OpenSSH's daemon on hosts; gives the options with which its client gets there without being asked anything."""
    daemon = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if not daemon or not shutil.which("ssh"):
        raise Skip("there is no OpenSSH (openssh-server, openssh-client)")
    for key in "host_key", "user_key":
        if not (shop.path / key).exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(shop.path / key)], check=True)
    served = shop.write("sshd_config", f"HostKey {shop.path}/host_key\nAuthorizedKeysFile {shop.path}/user_key.pub\n"
                        "StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n")
    used = shop.write("ssh_config", f"Port {SSH_PORT}\nUser root\nIdentityFile {shop.path}/user_key\nIdentitiesOnly yes\n"
                      f"BatchMode yes\nStrictHostKeyChecking no\nUserKnownHostsFile {shop.path}/known\nLogLevel ERROR\n")
    # The folder that it wants to find is in the host's own /run.
    script = f"mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec {daemon} -D -e -p {SSH_PORT} -f {served}"
    running = [subprocess.Popen(cluster.inside(host, ["sh", "-c", script]), stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True) for host in hosts]
    try:
        for host, process in zip(hosts, running):
            for line in process.stderr:
                if "listening on" in line:
                    break
            else:
                raise Skip(f"sshd does not start on {host}")
        yield f"-F {used}"
    finally:
        for host, process in zip(hosts, running):
            for pid in of(host, "sshd"):
                os.kill(pid, signal.SIGKILL)
            process.communicate(timeout=LIMIT_S)
            subprocess.run(cluster.inside(host, ["umount", "/run"]), check=True)


def test_jobs_come_to_their_hosts_by_openssh(shop):
    hello = shop.compile(HERE.parents[1] / "examples/hello.c")
    with daemons(shop, HOSTS[:3]) as extra:
        environment = {"HYDRA_LAUNCHER_EXTRA_ARGS": extra}
        before = {host: left(host) for host in HOSTS}
        for options in [], ["--set", "launch-width=1"]:
            result = run(BIN / "mpirun", "-hosts", "host[1-3]", "-n", 6, *options, hello, environment=environment)
            lines = expect(result, 0).out.splitlines()
            assert len(lines) == 6 and all(host in result.out for host in HOSTS[:3]), result
        text = "".join(f"line {i}\n" for i in range(20000))
        assert run(BIN / "mpirun", "-hosts", "host2", "-n", 1, "cat", stdin=text, environment=environment).out == text
        expect(run(BIN / "mpirun", "-hosts", "host1,host2", "-n", 2, "sh", "-c", "exit 7", environment=environment), 7)
        absent = run(BIN / "mpirun", "-hosts", "host1,host4", "-n", 2, "sleep", "60", environment=environment)
        expect(absent, 1, err=["host host4 (rank 1)", "exit code 255"])
        late = time.monotonic() + LIMIT_S
        for host in HOSTS:
            while more := left(host, before[host]):
                assert time.monotonic() < late, f"left on {host}: {more}"
                select.select([], [], [], 0.02)


def test_a_host_that_does_not_exist(shop):
    result = mpirun("-hosts", "host1,nowhere", "-n", 2, "sleep", "60")
    expect(result, 1, err=["host nowhere (rank 1)", "nothing was started there", "exit code 255", "by hand"])
    expect(mpirun("-hosts", "-oProxyCommand=x", "-n", 1, "true"), 2, err="begins like an option")
    expect(run(BIN / "mpirun", "--launcher-exec", "/absent/ssh", "-hosts", "host1", "-n", 1, "true"), 1,
           err=["host host1", "/absent/ssh", "--launcher-exec"])


def test_what_is_not_on_the_other_host_is_named(shop):
    (shop.path / "here").mkdir()
    program = shop.path / "here" / "program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    with hidden("host2", program.parent, shop):
        expect(mpirun("-hosts", "host1,host2", "-n", 2, program), 127, err=["host host2", str(program), "copy it"])
    result = mpirun("-hosts", "host1,host2", "-n", 2, program)
    expect(result, 0, lines=["ran", "ran"])
    with hidden("host2", BIN, shop):
        expect(mpirun("-hosts", "host1,host2", "-n", 2, program), 1, err=["host host2", str(BIN / "mpirun"), "install Weft"])
    (shop.path / "place").mkdir()
    (shop.path / "place" / "inner").mkdir()
    with hidden("host1", shop.path / "place", shop):
        expect(mpirun("-hosts", "host1,host2", "-n", 2, "-wdir", shop.path / "place/inner", program), 1,
               err=["host host1", "no such directory", "-wdir"])


def test_what_a_login_prints_is_no_answer(shop):
    noisy = shop.write("noisy", f'#!/bin/sh\necho "Welcome to $1"; exec {SSH} "$@"\n', 0o755)
    expect(run(BIN / "mpirun", "--launcher-exec", noisy, "-hosts", "host1", "-n", 1, "hostname"), 0, lines=["host1"])
    liar = shop.write("liar", "#!/bin/sh\necho Permission denied, please go away; exit 3\n", 0o755)
    expect(run(BIN / "mpirun", "--launcher-exec", liar, "-hosts", "host1", "-n", 1, "hostname"), 1,
           err=["host host1", "please go away", "exit code 3"])
    mad = shop.write("mad", "#!/bin/sh\nprintf '\\nweft-agent-1\\nnonsense that is no frame at all'; exec sleep 60\n", 0o755)
    expect(run(BIN / "mpirun", "--launcher-exec", mad, "-hosts", "host1", "-n", 1, "hostname"), 1,
           err=["host host1", "unknown kind"])
