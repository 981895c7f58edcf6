"""Programs that are compiled for tests, and what comments in them say."""
import re
import shutil
import tempfile
from pathlib import Path

from .places import BIN, ROOT
from .process import run, tail


def settings_of(text, label):
    """Returns the words NAME=VALUE of all comments of a source that begin with `LABEL:`."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(rf"\b{label}:(.*)", text))))


def compile_into(program, compiler, *words, needs=(), lines=6):
    """Compiles a program, unless it is newer than all files it needs and was made by the same command.

    Returns what went wrong, so many lines of what the compiler says, or None.
    """
    command = [*compiler, *map(str, words), "-o", str(program)]
    stamp = program.with_name(program.name + ".command")
    files = [Path(word) for word in words if Path(word).is_file()] + [ROOT / "include/mpi.h", *needs]
    newest = max((file.stat().st_mtime for file in files), default=0)
    text = " ".join(command)
    if program.exists() and program.stat().st_mtime > newest and stamp.exists() and stamp.read_text() == text:
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    result = run(*command, limit_s=300, is_merged=True)
    if result.code:
        return f"does not compile: {tail(result.out, lines)}"
    stamp.write_text(text)
    return None


def flang():
    """Returns the name of the newest flang on this machine, or None."""
    names = ["flang-new", "flang", *(f"{name}-{version}" for version in range(30, 15, -1) for name in ("flang", "flang-new"))]
    return next((name for name in names if shutil.which(name)), None)


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
