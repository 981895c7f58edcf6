"""Ways of running ranks that a suite's command line chooses."""
import sys

# As threads of one process, if none of these is given.
AS_PROCESSES = {"--processes": ["--ranks-as", "processes"], "--mixed": ["--ranks-per-process", "2"]}


def take_flags(*flags):
    """Returns those of the flags that the command line has, and takes them off it."""
    found = [flag for flag in flags if flag in sys.argv]
    sys.argv[:] = [word for word in sys.argv if word not in flags]
    return found
