"""Packs what `make` has built into a wheel: library, header, compiler wrappers and launcher go into the environment's own
`lib`, `include`, `bin` and `share`, where mpi4py and compilers look for them. There is no Python code in it.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build")).resolve()
STAGE = BUILD / "wheel" / "stage"


class PlatformWheel(bdist_wheel):
    """A wheel for any Python of one kind of machine."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


def stage():
    """Copies the parts of the build, without debugging information; returns (directory, files) for each directory."""
    missing = [part for part in ("bin/mpirun", "lib/libmpi_abi.so.1", "lib/weft/weft-node") if not (BUILD / part).exists()]
    if missing:
        raise SystemExit(f"{BUILD}: {', '.join(missing)} missing; run make first, or say where with WEFT_BUILD")
    shutil.rmtree(STAGE, ignore_errors=True)
    parts = {}
    for part in ("bin", "lib", "include", "share"):
        for file in sorted((BUILD / part).rglob("*")):
            if file.is_dir():
                continue
            directory = file.parent.relative_to(BUILD)
            copy = STAGE / directory / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink() and file.name == "libmpi_abi.so":
                # Wheels know no symbolic links, and a second library must not be there for anybody to load.
                copy.write_text("/* For linkers. */\nINPUT(libmpi_abi.so.1)\n")
            else:
                shutil.copy2(file.resolve(), copy)
            if copy.read_bytes()[:4] == b"\x7fELF" and shutil.which("strip"):
                subprocess.run(["strip", "--strip-debug", copy], check=True)
            parts.setdefault(str(directory), []).append(os.path.relpath(copy, HERE))
    return sorted(parts.items())


version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
setup(
    name="weft-mpi",
    version=version,
    description="An MPI whose ranks are threads, or processes",
    long_description=(HERE / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0 OR MIT",
    python_requires=">=3.8",
    packages=[],
    py_modules=[],
    data_files=stage(),
    cmdclass={"bdist_wheel": PlatformWheel},
    options={"egg_info": {"egg_base": str(STAGE.parent)}, "build": {"build_base": str(STAGE.parent / "work")}},
)
