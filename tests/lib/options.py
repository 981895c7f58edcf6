"""Options of the runners that can also test another build, or another MPI, than that of this folder."""
import argparse
from pathlib import Path

from .places import BUILD


def parser(description, folder, limit_s):
    """Returns a parser of the options that these runners share; programs go to a folder of the build."""
    found = argparse.ArgumentParser(description=description.splitlines()[0])
    found.add_argument("--build", type=Path, default=BUILD, help="folder with bin/mpicc and bin/mpirun")
    found.add_argument("--out", type=Path, help=f"folder for the programs (default: BUILD/{folder})")
    found.add_argument("--mpicc", help="default: BUILD/bin/mpicc")
    found.add_argument("--mpicxx", help="default: BUILD/bin/mpicxx")
    found.add_argument("--mpifort", help="default: BUILD/bin/mpifort")
    found.add_argument("--mpirun", help="launcher with its options (default: BUILD/bin/mpirun)")
    found.add_argument("--plain", action="store_true", help="no options of Weft's mpirun: for other MPIs")
    found.add_argument("--timeout", type=int, default=limit_s, help="seconds for one run (default: %(default)s)")
    found.set_defaults(folder=folder)
    return found


def parsed(wanted):
    """Returns the options of the command line, with paths and words where nothing is given."""
    options = wanted.parse_args()
    options.build = options.build.resolve()
    for name in ("mpicc", "mpicxx", "mpifort", "mpirun"):
        setattr(options, name, (getattr(options, name) or str(options.build / "bin" / name)).split())
    options.out = (options.out or options.build / options.folder).resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options
