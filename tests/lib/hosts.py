"""Suites that run on hosts made of network namespaces (tests/hosts/cluster.py)."""
import importlib.util
import os
import sys

from .places import ROOT

SCRIPT = ROOT / "tests/hosts/cluster.py"
_spec = importlib.util.spec_from_file_location("cluster", SCRIPT)
cluster = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cluster)


def on_hosts(count, *more):
    """Goes on inside of a cluster: runs this program again there, with further words. Returns inside, or with the reason why
    there can be no cluster."""
    if "CLUSTER_OF_HOSTS" in os.environ:
        return None
    reason = cluster.missing()
    if reason is None:
        sys.stdout.flush()
        words = [str(SCRIPT), "run", str(count), "--", sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:], *map(str, more)]
        os.execv(SCRIPT, words)
    return reason
