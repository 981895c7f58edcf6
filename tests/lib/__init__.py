"""What the runners of all suites share. A runner adds the folder `tests` to its path and says `from lib import …`."""
from .hosts import cluster, on_hosts
from .leavings import adopt_orphans, below, temporary_files
from .options import parsed, parser
from .places import BIN, BUILD, PART, ROOT, is_part
from .process import LIMIT_S, Result, expect, mpirun, run, tail
from .programs import Workshop, compile_into, flang, settings_of
from .results import Failed, Outcome, Results, Skip, at_once, main
from .ways import AS_PROCESSES, take_flags

__all__ = ["AS_PROCESSES", "BIN", "BUILD", "Failed", "LIMIT_S", "Outcome", "PART", "ROOT", "Result", "Results", "Skip", "Workshop",
           "adopt_orphans", "at_once", "below", "cluster", "compile_into", "expect", "flang", "is_part", "main", "mpirun",
           "on_hosts", "parsed", "parser", "run", "settings_of", "tail", "take_flags", "temporary_files"]
