"""Where things are, and how much is to be run."""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
# `tests/run` without `--all` sets this variable for all suites. mpirun would take a name that begins with WEFT_ for a setting.
PART = "TEST_PART"


def is_part():
    """Says whether a suite is to run only the part of its runs that `make test` has time for."""
    return os.environ.get(PART, "0") not in ("", "0")
