"""Jobs that meet, and jobs that start others."""
import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess

from lib import LIMIT_S, cluster, expect
from jobs import HERE, HOSTS, WAYS, Job, hidden, mpirun, of, rounds, words


MEET = HERE / "meet.c"
OF_FAMILIES = [f"-I{HERE.parent / 'conformance'}", f"-I{HERE.parent / 'conformance/dynamic'}"]


def meet(shop, what, sides, *options):
    """Starts two jobs on these hosts, with so many ranks, that connect to each other."""
    program, file = shop.compile(MEET, *OF_FAMILIES), shop.path / "port"
    return [subprocess.Popen([str(word) for word in words("-hosts", hosts, "-n", ranks, *options, program, how, file, what)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for how, (hosts, ranks) in zip(["accept", "connect"], sides)]


def ends(jobs):
    """Returns exit codes and what was printed, when all have ended."""
    outputs = [job.communicate(timeout=LIMIT_S) for job in jobs]
    return [(job.returncode, out, err) for job, (out, err) in zip(jobs, outputs)]


def test_jobs_on_different_hosts_meet(shop):
    apart, together = [("host1", 2), ("host2", 3)], [("host1,host2", 4), ("host2,host3", 4)]
    for sides in apart, together:
        for options in WAYS:
            for what in "life", "join":
                assert ends(meet(shop, what, sides, *options)) == [(0, "", "")] * 2, (sides, options, what)


def test_jobs_find_each_other_by_published_names(shop):
    program = shop.compile(HERE.parent / "faults/relatives.c")
    # Both mpiruns are on one host, their ranks on others; of the last pair one has its ranks there, too.
    for number, (server, client) in enumerate([(["-hosts", "host1,host2"], ["-hosts", "host3"]), (["-hosts", "host4"], []),
                                               ([], ["-hosts", "host4,host1"])]):
        lines = [words(*options, "-n", ranks, program, how, f"weft-test {os.getpid()} {number}")
                 for options, ranks, how in ((server, 2, "serve"), (client, 3, "connect"))]
        jobs = [subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for line in lines]
        assert ends(jobs) == [(0, "2 met 3: 3\n", ""), (0, "3 met 2: 2\n", "")], (server, client)


def test_the_end_of_a_job_is_an_error_in_the_other(shop):
    host = "host3"
    for what in "mpirun", "process", "link":
        jobs = meet(shop, "fails", [("host1,host2", 2), (host, 2)], "--set", "net-timeout=4")
        assert [job.stdout.readline() for job in jobs] == ["ready\n"] * 2
        try:
            if what == "mpirun":
                jobs[1].kill()
            elif what == "process":
                os.kill(of(host, "weft-node")[0], signal.SIGKILL)
            else:
                cluster.cut(host)
            (code, out, err), other = ends(jobs)
        finally:
            cluster.mend(host)
        assert code == 0 and "class aborted" in out and "lost" in out and other[0] != 0, (what, code, out, err, other)


def test_strangers_do_not_get_in_at_a_port(shop):
    chance = next(rounds())
    program, file = shop.compile(MEET, *OF_FAMILIES), shop.path / "port"
    line = words("-hosts", "host1", "-n", 2, program, "accept", file, "life")
    jobs = [subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)]
    while not file.exists():
        assert jobs[0].poll() is None, ends(jobs)
        select.select([], [], [], 0.01)
    _, door, token, addresses = file.read_text().split(":", 3)
    host, port = addresses.split(",")[0].rsplit(":", 1)
    held = []
    for number in range(200):
        stranger = socket.create_connection((host, int(port)), timeout=LIMIT_S)
        # The port's number, which may be read on the way, and what is no proof.
        noise = chance.randbytes(chance.choice([1, 48, 500, 70000]))
        with contextlib.suppress(OSError):
            stranger.sendall(noise if number % 2 else bytes.fromhex(token[:32]) + noise)
        held.append(stranger)
    # A name with another secret: who listens refuses, and so does who connects where the secret is not known.
    wrong = shop.write("wrong", f"weft:{door}:{token[:-1]}{'1' if token[-1] == '0' else '0'}:{addresses}")
    refused = mpirun("-hosts", "host2", "-n", 1, program, "connect", wrong, "life")
    assert refused.code != 0 and "does not know the port's secret" in refused.out + refused.err, refused
    line = words("-hosts", "host2", "-n", 2, program, "connect", file, "life")
    jobs.append(subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    (code, out, err), other = ends(jobs)
    assert code == 0 and other == (0, "", ""), (code, out, err, other)
    assert err.count("a connection to a port was refused") == 1, err
    for stranger in held:
        stranger.close()


SPAWNED = HERE / "spawned.c"


def spawns(shop, options, *what):
    """Returns where the processes of jobs are that a job starts, host1 being 1, or what it is told instead."""
    result = expect(mpirun(*options, shop.compile(SPAWNED), *" / ".join(what).split()), 0)
    return [line.replace("host", "").replace(" ", "") if line.startswith("host") else line for line in result.out.splitlines()]


def test_spawned_processes_take_the_slots_that_are_free(shop):
    two, three = ["-hosts", "host1:2,host2:2", "-n", 2], ["-hosts", "host1:1,host2:1,host3:1", "-n", 1]
    assert spawns(shop, two, "2", "3") == ["22", "112"]
    for options in WAYS:
        assert spawns(shop, [*three, *options], "1", "1", "2") == ["2", "3", "12"], options
    assert spawns(shop, ["-hosts", "host2,host1", "-n", 2], "4") == ["2211"]
    ranks, hosts = shop.write("ranks", "rank 0=host3 slot=0\n"), shop.write("hosts", "host4 slots=1\nhost2:2\n")
    assert spawns(shop, ["-rankfile", ranks, "-n", 1], "2") == ["33"]
    assert spawns(shop, ["-f", hosts, "-n", 1], "3") == ["224"]
    full, = spawns(shop, [*two, "--nooversubscribe"], "3")
    assert full.startswith("class spawn, 3 codes of 3: ") and "4 slots on 2 hosts, of which 2 are taken" in full, full


def test_info_keys_say_where_spawned_processes_run(shop):
    hosts = shop.write("hosts", "host4 slots=1\nhost2\n")
    for options in ["-hosts", "host1", "-n", 2], ["-hosts", "host1,host2", "-n", 2], ["-f", shop.write("one", "host1\n"), "-n", 1]:
        # host3 and host4 are none of the job's. Where slots are counted, those go first that no other job here has.
        found = spawns(shop, options, "2 host=host2", "4 host=host3,host1", "3 hosts=host[3-4]:1", "1 add-host=host4",
                       f"2 hostfile={hosts}", f"2 add-hostfile={hosts}", "4 host=host1,host2 map_by=node",
                       "1 host=host2 + 2 host=host4 + 1")
        assert found == ["22", "3311", "434", "4", "42", "42", "1212", "2441"], (options, found)


def test_spawned_processes_that_cannot_be_on_their_host(shop):
    for host, says in [("nowhere", "host nowhere (rank"), ("-oProxyCommand=x", "begins like an option"), ("a;b", "no host's name")]:
        result = mpirun("-hosts", "host1", "-n", 2, shop.compile(SPAWNED), 2, f"host={host}", "/", 1)
        expect(result, 0)
        refused, after = result.out.splitlines()
        assert refused.startswith("class spawn, 2 codes of 2: ") and says in refused and after == "host1", result
    (shop.path / "only" / "inner").mkdir(parents=True)
    program = shutil.copy(shop.compile(SPAWNED), shop.path / "only" / "spawned")
    with hidden("host2", program.parent, shop):
        refused, = spawns(shop, ["-hosts", "host1", "-n", 1], f"1 host=host2 wdir={program.parent}/inner")
        assert refused.startswith("class spawn, 1 codes of 1: ") and "host host2" in refused, refused
        result = expect(mpirun("-hosts", "host1", "-n", 1, program, 1, "host=host2"), 0)
        assert "class spawn, 1 codes of 1: " in result.out and f"host host2: {program}" in result.out, result


def family(shop, what, *options, ready=0):
    """Starts a job of two ranks on two hosts that starts one of two on the two others."""
    slots = ",".join(f"{host}:1" for host in HOSTS)
    return Job(shop.compile(HERE.parent / "faults/relatives.c"), what, ready=ready,
               options=["-hosts", slots, "-n", 2, "--set", "net-timeout=4", *options])


def test_the_end_of_a_spawned_job_concerns_who_is_connected(shop):
    for options in [], ["--ranks-as", "processes"]:
        for what, expected, goes_on in [("nothing", 0, True), ("late code", 5, True), ("stuck", 125, False), ("survives", 137, True),
                                        ("crash", 134, False), ("killed", 137, False), ("parent fails", 9, False)]:
            job = family(shop, what, *options)
            code, err = job.end()
            assert code == expected and (b"go on" in job.out) == goes_on, (what, options, code, job.out, err)


def test_kill_9_of_mpirun_ends_spawned_jobs_everywhere(shop):
    for _ in rounds():
        job = family(shop, "wait", ready=1)
        job.process.kill()
        assert job.end()[0] == -signal.SIGKILL


def test_a_link_that_is_cut_ends_a_spawned_job(shop):
    # host1 and host2 have the parents, host4 a child.
    for host in "host2", "host4":
        job = family(shop, "wait", ready=1)
        cluster.cut(host)
        try:
            code, err = job.end()
        finally:
            cluster.mend(host)
        assert code != 0 and f"host {host} (rank 1)" in err, (host, code, err)
