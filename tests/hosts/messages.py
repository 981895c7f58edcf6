"""Programs that use MPI: messages, deadlocks, faults, strangers."""
import contextlib
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

from lib import LIMIT_S, cluster, expect
from jobs import FAULT, HERE, HOSTS, SLACK_S, WAYS, Job, agents, command_of, listening, moment, mpi_job, mpirun, of, rounds


def test_ranks_of_several_hosts_exchange_messages(shop):
    hello = shop.compile(HERE.parents[1] / "examples/hello.c")
    for options in [], ["-rr"], ["--ranks-as", "processes"], ["--ranks-per-process", "2"], ["--set", "launch-width=1"]:
        result = expect(mpirun("-hosts", "host[1-4]", "-n", 9, *options, hello), 0)
        assert len(result.out.splitlines()) == 9 and all(host in result.out for host in HOSTS), result


def test_one_process_of_each_host_and_many_make_the_same_groups(shop):
    program = shop.compile(HERE / "places.c")
    for options in [], ["-rr"], ["--ranks-as", "processes"]:
        # Not as many on each.
        result = mpirun("-hosts", "host1,host2,host3", "-n", 7, *options, program)
        assert result.code == 0 and result.out == "3 names\n", result


def sent(result):
    """Returns how many messages the hosts have sent to each other, by the line at the job's end."""
    line = re.search(r"hosts have sent to each other: (\d+) messages of ranks and (\d+) of collectives", result.err)
    assert line, result
    return int(line[1]) + int(line[2])


def test_a_broadcast_sends_one_message_less_than_there_are_hosts(shop):
    program = shop.compile(HERE / "broadcasts.c")
    seed = int.from_bytes(os.urandom(4), "little")
    chance = random.Random(seed)
    for hosts, ranks, *options in [(2, 5), (3, 7, "-rr"), (4, 4), (4, 8), (4, 12, "-rr"), (4, 8, "--ranks-per-process", 1),
                                   (4, 12, "-rr", "--ranks-per-process", 2)]:
        # A step that has no divisor in common with the number of ranks makes another order of them.
        step = chance.choice([step for step in range(1, ranks) if math.gcd(step, ranks) == 1])
        root, size, times = chance.randrange(ranks), chance.choice([1, 8, 1000, 4000]), chance.randrange(3)
        counts = [sent(expect(mpirun("-hosts", f"host[1-{hosts}]", "-n", ranks, "--set", "net-counts=on", *options,
                                     program, number, root, size, step), 0)) for number in (times, times + 1)]
        assert counts[1] - counts[0] == hosts - 1, (seed, hosts, ranks, options, root, size, step, counts)


def test_a_flood_of_messages_is_held_back(shop):
    result = expect(mpirun("-hosts", "host1,host2", "-n", 2, shop.compile(HERE / "flood.c"), 1 << 20), 0, out="0 wrong")
    grown = int(result.out.split()[2])
    # 1 GiB was sent; the setting `unexpected` is 4 MiB, and the sockets hold some.
    assert grown < 64 * 1024, result


def test_a_flood_from_many_is_held_back(shop):
    # 15 senders on three hosts and 3 beside the receiver; the memory is the process's, however many there are.
    flood = shop.compile(HERE / "flood.c")
    result = expect(mpirun("-hosts", "host1:5,host2:5,host3:5,host4:4", "-n", 19, flood, 20000), 0, out="0 wrong")
    grown = int(result.out.split()[2])
    # 380 MB were sent. Four ranks share four times the setting, each host has a third of that, and the last keeps as much
    # again of what comes from its own process.
    assert grown < 64 * 1024, result


def test_a_way_to_avoid_congestion_that_is_not_known_is_refused(shop):
    hello = shop.compile(HERE.parents[1] / "examples/hello.c")
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "--set", "net-congestion=reno", hello), 0, out="host2")
    wrong = mpirun("-hosts", "host1,host2", "-n", 2, "--set", "net-congestion=pigeon", hello)
    assert wrong.code != 0 and "net-congestion=pigeon: the kernel does not take it" in wrong.err, wrong


def test_interfaces_are_chosen_on_all_hosts(shop):
    hello = shop.compile(HERE.parents[1] / "examples/hello.c")
    expect(mpirun("-hosts", "host1,host2", "-n", 2, "--set", "net-include=10.77.0.0/24", hello), 0, out="host2")
    wrong = mpirun("-hosts", "host1,host2", "-n", 2, "--set", "net-include=ib0", hello)
    assert wrong.code != 0 and "no interface is left by net-include=ib0" in wrong.err and "eth0" in wrong.err, wrong


def test_long_messages_take_all_interfaces(shop):
    stripes = shop.compile(HERE / "stripes.c")
    both = ["-hosts", "host1,host2"]
    with cluster.second_links(["host1", "host2"]):
        for options in ["-n", 2], ["-n", 6], ["-n", 4, "--ranks-as", "processes"], ["-n", 2, "--set", "net-stripes=5"]:
            before = [cluster.bytes_sent("host1", interface) for interface in ("eth0", "eth1")]
            expect(mpirun(*both, *options, stripes, 24), 0, lines=["ready"])
            after = [cluster.bytes_sent("host1", interface) for interface in ("eth0", "eth1")]
            grown = [new - old for new, old in zip(after, before)]
            # Each sender has sent 40 MB, of which all but the short messages are cut; five parts in two and three.
            assert sum(grown) > 35e6 and min(grown) > 0.3 * sum(grown), (options, grown)
        for option, idle in ("net-stripes=1", "eth1"), ("net-exclude=eth0", "eth0"):
            before = cluster.bytes_sent("host1", idle)
            expect(mpirun(*both, "-n", 2, "--set", option, stripes, 24), 0, lines=["ready"])
            assert cluster.bytes_sent("host1", idle) - before < 4e6, option


def test_the_loss_of_one_of_several_interfaces_ends_the_job(shop):
    stripes = shop.compile(HERE / "stripes.c")
    with cluster.second_links(HOSTS) as ports:
        for chance in rounds():
            # One of those that send; before its connections are made it would do without that interface.
            host = chance.choice(HOSTS[:2])
            before = cluster.bytes_sent(host, "eth1")
            job = Job(stripes, 0, options=["--set", "net-timeout=3"], ready=1)
            while cluster.bytes_sent(host, "eth1") - before < 20e6:
                assert job.process.poll() is None, job.fate()
            began = time.monotonic()
            cluster.set_port(ports[host], "down")
            try:
                code, err = job.end()
            finally:
                cluster.set_port(ports[host], "up")
            assert code != 0 and "is lost" in err, (code, err)
            assert time.monotonic() - began < 3 + SLACK_S, err


def test_long_messages_get_through_while_a_side_computes(shop):
    busy = shop.compile(HERE / "busy.c")
    for number, options in enumerate([["-n", 2], ["-n", 8], ["-n", 4, "--ranks-as", "processes"]]):
        for side in "receiver", "sender":
            folder = shop.path / f"{side}-{number}"
            folder.mkdir()
            expect(mpirun("-hosts", "host1,host2", *options, busy, side, folder), 0, lines=[])


def test_a_crash_names_its_host(shop):
    expect(mpirun("-hosts", "host1,host2", "-n", 2, shop.compile(FAULT), "null"), 139,
           err=["rank 1 on host2", "SIGSEGV", "#0 read_nowhere at fault.c:"])


def test_a_deadlock_among_hosts_is_reported(shop):
    program = shop.compile(FAULT)
    for options in WAYS:
        result = mpirun("-hosts", "host[1-3]", "-n", 6, *options, program, "deadlock")
        expect(result, 125, out="before", err=["deadlock", "rank 0:", "MPI_Barrier", "ranks 1-5:", "MPI_Recv"])
        # The others end in MPI_Finalize, which waits for all.
        result = mpirun("-hosts", "host[1-3]", "-n", 6, *options, program, "deadlock of some")
        expect(result, 125, err=["deadlock", "ranks 1-5: waits in MPI_Recv"])


def test_who_may_go_on_is_in_no_deadlock(shop):
    program = shop.compile(FAULT)
    for options in WAYS:
        for what in "sleeps", "computes", "thread sleeps", "starts", "chatters":
            result = expect(mpirun("-hosts", "host[1-3]", "-n", 6, *options, program, "late", what), 0)
            assert not result.err, (options, what, result)


def test_kill_9_of_anything_at_any_moment(shop):
    program = shop.compile(FAULT)
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = Job(program, "busy", options=chance.choice(WAYS), ready=0)
        # The shells that start it there are not needed any more.
        own = lambda: [pid for pid in cluster.processes(host) if command_of(pid) and "/sh " not in command_of(pid)]
        while not (there := own()):
            assert job.process.poll() is None, job.fate()
        moment(chance)
        victim = chance.choice(own() or there)
        what = command_of(victim)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            job.process.terminate()
        try:
            code, err = job.end()
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{what} was killed on {host}: {late}") from late
        assert code != 0 and (host in err or "SIGTERM" in err), (what, code, err)


STATES = "wait", "spin", "busy"


def test_mpi_kill_9_of_a_node_process(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = mpi_job(shop, chance.choice(STATES))
        moment(chance)
        os.kill(chance.choice(of(host, "weft-node")), signal.SIGKILL)
        code, err = job.end()
        assert code == 137 and f" on {host} ended by SIGKILL" in err, (code, err)


def test_mpi_a_link_that_is_cut(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = mpi_job(shop, chance.choice(STATES))
        moment(chance)
        cluster.cut(host)
        try:
            code, err = job.end()
        finally:
            cluster.mend(host)
        assert code != 0 and host in err, (code, err)


def test_mpi_an_agent_that_is_stopped(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = mpi_job(shop, chance.choice(STATES))
        moment(chance)
        os.kill(agents(host)[-1], signal.SIGSTOP)
        code, err = job.end()
        assert code == 1 and f"host {host} (ranks" in err, (code, err)


def test_strangers_do_not_disturb_a_job(shop):
    chance = next(rounds())
    job = mpi_job(shop, "wait")
    for host in HOSTS:
        for port in listening(host):
            for _ in range(20):
                with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=LIMIT_S) as stranger:
                    stranger.sendall(chance.randbytes(chance.choice([1, 47, 48, 500, 70000])))
    job.process.terminate()
    code, err = job.end()
    assert code == 128 + signal.SIGTERM and "lost" not in err, (code, err)


def test_a_handshake_that_is_repeated_is_refused(shop):
    # Nobody has to wait until there is a job, because hosts are connected when it begins.
    stranger = subprocess.Popen(cluster.inside("host1", [sys.executable, str(HERE / "replay.py")]),
                                stdout=subprocess.PIPE, text=True)
    try:
        assert stranger.stdout.readline() == "listening\n"
        job = mpi_job(shop, "wait")
        assert stranger.stdout.read().split("\n")[:-1] == ["refused"]
    finally:
        stranger.kill()
        stranger.wait()
    job.process.terminate()
    code, err = job.end()
    assert code == 128 + signal.SIGTERM and "lost" not in err and "does not know the job's secret" in err, (code, err)
