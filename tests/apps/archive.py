"""Sources and packages from the archives that the machine's apt knows, and commands that build and run what they hold."""
import os
import shutil
import tarfile

import lib
from lib import Failed, Skip, tail

# Where the archive's own release has a source no longer, a newer one may have it.
NEWER = ["stable", "testing"]
# What apt is asked about each of the machine's archives.
ARCHIVE = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SIGNED_BY)"


def run(command, cwd=None, timeout=300, env=None, stdin=None):
    """Runs a command; returns its exit code and output."""
    result = lib.run(*command, directory=cwd, limit_s=timeout, environment=env, is_merged=True, stdin=stdin)
    return result.code, result.out


class Apt:
    """Fetches sources and packages through apt with folders of its own."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        self.ready = False
        # Those that have sources, in the order in which they are asked.
        self.releases = []

    def prepare(self):
        if self.ready:
            return
        if not shutil.which("apt-get"):
            raise Skip("no apt-get on this machine")
        archives = self.archives()
        for sub in ("parts", "lists/partial", "cache/archives/partial", "files"):
            (self.folder / sub).mkdir(parents=True, exist_ok=True)
        (self.folder / "parts/weft.list").write_text(archives)
        (self.folder / "apt.conf").write_text(
            f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{self.folder}/parts";\n'
            f'Dir::State::Lists "{self.folder}/lists";\nDir::Cache "{self.folder}/cache";\n'
            'APT::Sandbox::User "";\nAPT::Update::Error-Mode "any";\n')
        self.env = dict(os.environ, APT_CONFIG=str(self.folder / "apt.conf"))
        code, output = run(["apt-get", "update"], env=self.env)
        if code:
            raise Skip(f"the archives of packages cannot be reached: {tail(output, 2)}")
        self.ready = True

    def archives(self):
        """Returns the machine's archives as apt's one-line entries, each for packages and for sources, whether or not the
        machine has lists of sources."""
        code, output = run(["apt-get", "indextargets", "--format", ARCHIVE, "Created-By: Packages"])
        entries = []
        for uri, release, component, key in [line.split("|") for line in sorted(set(output.splitlines())) if line.count("|") == 3]:
            options = f"[signed-by={key}] " if key.startswith("/") else ""
            entries += [f"{kind} {options}{uri} {release} {component}\n" for kind in ("deb", "deb-src") if component]
            if component == "main" and uri.rstrip("/").endswith("/debian") and "-" not in release:
                entries += [f"deb-src {options}{uri} {newer} {component}\n" for newer in NEWER]
                self.releases = [release, *NEWER]
        if code or not entries:
            raise Skip(f"apt knows no archive: {tail(output, 2)}")
        return "".join(entries)

    def fetch(self, pattern, commands):
        """Returns the file that matches the pattern. Unless it is there, it is fetched by the first of the apt-get commands that can."""
        files = self.folder / "files"
        if files.exists() and (found := sorted(files.glob(pattern))):
            return found[0]
        self.prepare()
        for command in commands():
            code, output = run(["apt-get", *command], cwd=files, env=self.env)
            found = sorted(files.glob(pattern))
            if found and not code:
                return found[0]
        raise Skip(f"apt-get {' '.join(command)} failed: {tail(output, 2)}")

    def source(self, package):
        """Returns the archive with a package's sources: of the machine's release or, where that has them no longer, of a newer one."""
        def commands():
            names = [f"{package}/{release}" for release in self.releases] or [package]
            return [["source", "--tar-only", name] for name in names]
        return self.fetch(f"{package}_*.orig.tar.*", commands)

    def linear_algebra(self, into):
        """Returns the reference BLAS and LAPACK, the latter compiled for shared objects."""
        for package, pattern in (("liblapack-dev", "liblapack_pic.a"), ("libblas-dev", "libblas.a")):
            if not list(into.rglob(pattern)):
                self.package(package, into)
        return tuple(next(into.rglob(pattern)).resolve() for pattern in ("libblas.a", "liblapack_pic.a"))

    def package(self, package, into):
        deb = self.fetch(f"{package}_*.deb", lambda: [["download", package]])
        code, output = run(["dpkg-deb", "-x", deb, into])
        if code:
            raise Failed(f"cannot unpack {deb.name}: {output}")


def unpack(archive, into):
    """Unpacks an archive anew and returns its top folder."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(into)
    return next(p for p in into.iterdir() if p.is_dir())
