"""What a job could leave behind, told apart from what other suites do at the same time."""
import ctypes
import os
import tempfile
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
# Folders of runners, and of clusters, begin with one of these.
OF_RUNNERS = ("weft-test-", "weft-cluster.")


def temporary_files():
    """Lists the names of temporary files that are no runner's."""
    return {str(path) for path in Path(tempfile.gettempdir()).glob("*weft*") if not path.name.startswith(OF_RUNNERS)}


def adopt_orphans():
    """Makes this process the parent of what its children leave behind, so that all of it is below this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def below():
    """Lists the processes that this one has started, with all that they have started."""
    found, new = [], [os.getpid()]
    while new:
        children = [child for process in new for child in children_of(process)]
        found, new = found + children, children
    return found


def children_of(process):
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []  # It has ended.
    found = []
    for task in tasks:
        try:
            found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found
