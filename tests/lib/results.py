"""A line for each test: `ok NAME`, `not ok NAME: reason` or `skip NAME: reason`."""
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from .process import tail
from .programs import Workshop


class Skip(Exception):
    """A test that cannot be run here, and why."""


class Failed(Exception):
    """Says why a test failed, in words that need no place in the test."""


class Outcome:
    """What a test has come to: what went wrong or why it was skipped, else what it returned."""

    def __init__(self, test, *arguments):
        self.problem = self.reason = self.value = None
        start = time.monotonic()
        try:
            self.value = test(*arguments)
        except Skip as reason:
            self.reason = str(reason)
        except Failed as problem:
            self.problem = str(problem)
        except subprocess.TimeoutExpired as late:
            said = tail(late.output or "")
            self.problem = f"did not end within {late.timeout} s: {late.cmd}" + (f"\n    {said}" if said else "")
        except Exception as error:  # Any failure is a result of this test, not the end of the others.
            text = " ".join(str(error).split()) or repr(error)
            line = traceback.extract_tb(error.__traceback__)[1:2]
            self.problem = text + (f" (line {line[0].lineno})" if line else "")
        self.seconds = time.monotonic() - start


class Results:
    """Prints the results of a suite and counts them."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name, note=""):
        self.passed += 1
        print(f"ok {name} {note}".rstrip(), flush=True)

    def bad(self, name, problem):
        self.failed += 1
        print(f"not ok {name}: {problem}", flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skip {name}: {reason}", flush=True)

    def add(self, name, problem, note=""):
        """Adds a test that has failed with a problem, or passed if that is None or empty."""
        if problem:
            self.bad(name, problem)
        else:
            self.ok(name, note)

    def show(self, name, outcome, note=""):
        """Adds a test's outcome; what the test returned is of no account."""
        if outcome.reason is not None:
            self.skip(name, outcome.reason)
        else:
            self.add(name, outcome.problem, note)

    def code(self):
        """Returns the exit code of the runner. That no test was run is a failure, too."""
        if not self.passed + self.failed + self.skipped:
            self.bad("no test was run", "nothing has the names that are asked for")
        return 1 if self.failed else 0


def at_once(count, test, items):
    """Runs a test of each item, so many at once; yields (item, outcome) in the order of the items."""
    with ThreadPoolExecutor(count) as pool:
        yield from zip(items, pool.map(lambda item: Outcome(test, item), items))


def main(tests):
    """Runs the tests (those whose names contain a word of the command line) in a workshop."""
    words, results, shop = sys.argv[1:], Results(), Workshop()
    for test in tests:
        if not words or any(word in test.__name__ for word in words):
            results.show(test.__name__.removeprefix("test_").replace("_", " "), Outcome(test, shop))
    sys.exit(results.code())
