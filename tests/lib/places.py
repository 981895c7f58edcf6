"""Where things are, and how much is to be run."""
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
# `tests/run --all` sets this variable for all suites.
ALL = "WEFT_TEST_ALL"


def is_whole():
    """Says whether all runs of a suite are wanted, rather than the cut of `make test`."""
    return os.environ.get(ALL, "0") not in ("", "0")
