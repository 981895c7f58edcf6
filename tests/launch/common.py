"""What the tests of the launcher share: the build, programs compiled by its wrappers, runs with a time limit, results."""
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
# Long beyond any run here: only a hang reaches it.
LIMIT_S = 60


class Skip(Exception):
    """A test that cannot be run here, and why."""


class Result:
    """What a finished command left."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"code {self.code}, stdout {self.out[-600:]!r}, stderr {self.err[-900:]!r}"


def run(*words, stdin="", environment=None, directory=None):
    """Runs a command to its end; a hang is a failure."""
    everything = dict(os.environ, **(environment or {}))
    done = subprocess.run([str(word) for word in words], input=stdin, text=True, capture_output=True, errors="replace",
                          env=everything, cwd=directory, timeout=LIMIT_S)
    return Result(done.returncode, done.stdout, done.stderr)


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


class Workshop:
    """A temporary directory with programs compiled on demand."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="weft-test-")
        self.path = Path(self.directory.name)

    def compile(self, source, *flags, wrapper="mpicc", name=None):
        """Compiles a file beside the calling test; returns the program."""
        source = Path(source)
        program = self.path / (name or source.stem)
        if not program.exists():
            result = run(BIN / wrapper, "-g", "-O1", source, "-o", program, *flags)
            assert result.code == 0, f"{wrapper} {source.name}: {result}"
        return program

    def write(self, name, text, mode=0o644):
        """Writes a file."""
        path = self.path / name
        path.write_text(text)
        path.chmod(mode)
        return path


def main(tests):
    """Runs the tests (those whose names contain a word of the command line), prints a line for each."""
    words, failed = sys.argv[1:], 0
    shop = Workshop()
    for test in tests:
        name = test.__name__.removeprefix("test_").replace("_", " ")
        if words and not any(word in test.__name__ for word in words):
            continue
        try:
            test(shop)
            print(f"ok {name}", flush=True)
        except Skip as reason:
            print(f"skip {name}: {reason}", flush=True)
        except subprocess.TimeoutExpired as late:
            failed += 1
            print(f"not ok {name}: did not end within {late.timeout} s: {late.cmd}", flush=True)
        except Exception as error:  # Any failure is a result of this test, not the end of the others.
            failed += 1
            text = " ".join(str(error).split()) or repr(error)
            line = traceback.extract_tb(error.__traceback__)[1:2]
            place = f" (line {line[0].lineno})" if line else ""
            print(f"not ok {name}: {text}{place}", flush=True)
    sys.exit(1 if failed else 0)
