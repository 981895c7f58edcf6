"""Commands that are run to their end, with a limit of time, and what they left."""
import os
import signal
import subprocess

from .places import BIN

# Long beyond any run here: only a hang reaches it.
LIMIT_S = 60


class Result:
    """What a finished command left."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"code {self.code}, stdout {self.out[-600:]!r}, stderr {self.err[-900:]!r}"


def run(*words, stdin=None, environment=None, directory=None, limit_s=LIMIT_S, is_merged=False):
    """Runs a command to its end. With `is_merged` both outputs are one, in the order in which they came.

    A command that does not end in time is killed with all that is in its process group, and is a
    subprocess.TimeoutExpired, which has what was printed. The group is no session: kernels share the cores among sessions
    first, and Linux 6.18 starves one whose threads sleep briefly, for tens of seconds.
    """
    words = [str(word) for word in words]
    process = subprocess.Popen(words, text=True, errors="replace", process_group=0, cwd=directory,
                               env=dict(os.environ, **(environment or {})),
                               stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT if is_merged else subprocess.PIPE)
    try:
        out, err = process.communicate(stdin, timeout=limit_s)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise subprocess.TimeoutExpired(words, limit_s, out, err) from None
        raise
    return Result(process.returncode, out, err or "")


def mpirun(*words, **options):
    """Runs mpirun."""
    return run(BIN / "mpirun", *words, **options)


def expect(result, code=None, out=None, err=None, lines=None):
    """Fails unless the result is as said: exit code, parts of the two outputs, sorted lines of standard output."""
    if code is not None:
        assert result.code == code, f"expected code {code}: {result}"
    for part in [out] if isinstance(out, str) else out or []:
        assert part in result.out, f"expected {part!r} on stdout: {result}"
    for part in [err] if isinstance(err, str) else err or []:
        assert part in result.err, f"expected {part!r} on stderr: {result}"
    if lines is not None:
        assert sorted(result.out.splitlines()) == sorted(lines), f"expected lines {sorted(lines)}: {result}"
    return result


def tail(text, lines=6):
    """Returns the last lines of an output, to be shown below a result."""
    return "\n    ".join(line[:300] for line in text.strip().splitlines()[-lines:])
