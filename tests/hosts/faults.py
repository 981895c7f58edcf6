"""Faults of processes, agents, machines and links."""
import os
import signal
import time
from pathlib import Path

from lib import cluster, expect
from jobs import HEARTBEAT_S, HOSTS, SLACK_S, SSH, Job, agents, command_of, mpirun, of, rounds


def test_kill_9_of_a_process_on_another_host(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = Job()
        os.kill(chance.choice(of(host, "sleep 300")), signal.SIGKILL)
        code, err = job.end()
        assert code == 137 and f" on {host} ended by SIGKILL" in err, (code, err)


def test_kill_9_of_an_agent(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = Job(options=["--set", f"launch-width={chance.choice([1, 4])}"])
        os.kill(chance.choice(agents(host)), signal.SIGKILL)
        code, err = job.end()
        number = 2 * HOSTS.index(host)
        assert code == 1 and f"host {host} (ranks {number}-{number + 1}): the connection is lost" in err, (code, err)


def test_an_agent_that_is_stopped(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = Job()
        # The one that works, or the one that watches it, whose stop changes nothing.
        guard, worker = agents(host)
        os.kill(worker, signal.SIGSTOP)
        code, err = job.end()
        assert code == 1 and f"host {host} (ranks" in err, (code, err)
        assert "no sign of life" in err or "connection is lost" in err, err
        job = Job()
        guard, worker = agents(host)
        os.kill(guard, signal.SIGSTOP)
        job.process.send_signal(signal.SIGTERM)
        assert job.end()[0] == 128 + signal.SIGTERM


def test_a_host_that_takes_its_time_to_start_is_waited_for(shop):
    late = shop.path / "late"
    late.write_text(f'#!/bin/bash\n{{ sleep {1.5 * HEARTBEAT_S}; exec cat; }} | {SSH} "$@"\n')
    late.chmod(0o755)
    # The later option counts.
    expect(mpirun("--launcher-exec", late, "-hosts", "host1", "-n", 1, "true"), 0, lines=[])


def test_a_machine_that_stands_still_loses_no_host(shop):
    job = Job()
    everybody = [job.process.pid, *(pid for host in HOSTS for pid in agents(host))]
    assert len(everybody) == 1 + 2 * len(HOSTS), everybody
    # As if all of it had been stopped and gone on, one after another: who comes first must not give up the others.
    for pid in everybody:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(2 * HEARTBEAT_S)
    for pid in everybody:
        os.kill(pid, signal.SIGCONT)
        time.sleep(HEARTBEAT_S / 20)
    time.sleep(HEARTBEAT_S)
    assert job.process.poll() is None, job.end()
    job.process.send_signal(signal.SIGTERM)
    assert job.end()[0] == 128 + signal.SIGTERM


def test_a_link_that_is_cut(shop):
    for chance in rounds():
        host = chance.choice(HOSTS)
        job = Job()
        began = time.monotonic()
        cluster.cut(host)
        try:
            code, err = job.end()
        finally:
            cluster.mend(host)
        assert code == 1 and f"host {host} (ranks" in err and "no sign of life" in err, (code, err)
        assert time.monotonic() - began < HEARTBEAT_S + SLACK_S


def test_kill_9_of_mpirun(shop):
    for _ in rounds():
        job = Job(options=["--set", "launch-width=1"])
        job.process.kill()
        assert job.end()[0] == -signal.SIGKILL


def test_interrupt_and_terminate_end_the_job(shop):
    for number in (signal.SIGINT, signal.SIGTERM):
        job = Job()
        job.process.send_signal(number)
        code, err = job.end()
        assert code == 128 + number and number.name in err, (code, err)


def test_signals_reach_all_ranks(shop):
    job = Job("sh", "-c", "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.05; done")
    job.process.send_signal(signal.SIGUSR1)
    out = job.process.stdout.read()
    assert job.end()[0] == 0 and out == b"got\n" * 2 * len(HOSTS), out


def test_command_lines_and_environments_hold_no_secret(shop):
    job = Job()
    for host in HOSTS:
        for pid in of(host, "mpirun --agent"):
            assert command_of(pid).endswith("mpirun --agent"), command_of(pid)
            assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes().lower()
    job.process.terminate()
    job.end()
