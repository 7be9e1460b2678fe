"""Puts together the file system of the image, a layer after the other, in the builder.

- ``root.py system LAYER``: Python, the few programs that scripts in the image call, and the libraries of both, taken from the builder's
  system (any Debian with its essential packages). What is not named here is not in the image: no package manager, no compiler.
- ``root.py trim LAYER``: what packages bring and a broker does not need goes.
- ``root.py compile LAYER``: modules in compiled form alone. Nobody can write there later, so without it each start would compile what it
  imports; and both forms together are a third more.
- ``root.py scripts FOLDER LAYER``: the scripts of this folder, its programs in the places of others, and Kafka's commands by their names.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

#: Programs that start scripts of others, compose files and people at a shell in the container call.
PROGRAMS = (
    "awk bash sed grep cat chmod cp cut date dirname basename echo env expr find head hostname id ln ls mkdir mktemp mv nohup "
    "printenv printf pwd readlink rm seq sleep sort stat tail tee test timeout touch tr true false uname uniq wc whoami xargs "
    "ldconfig"
).split()
#: Libraries that wheels may expect of the system (manylinux), beside those of Python itself.
LIBRARIES = "libc libm libdl libpthread librt libutil libgcc_s libstdc++ libz libresolv libnss_files libnss_dns".split()
#: Parts of the standard library for development, windows and graphics.
LEFT_OUT = (
    "test tests idlelib tkinter turtledemo turtle.py ensurepip lib2to3 pydoc_data distutils config-* site-packages *.a "
    "_tkinter.* _curses*.so _dbm.* _gdbm.* _sqlite3.* readline.* _test*.so _ctypes_test.* xx*.so sqlite3 curses dbm venv "
    "nis.* ossaudiodev.* spwd.* _crypt.*"
).split()
#: Parts of the packages: their tests, files for compilers and type checkers, a second implementation of zstandard.
TRIMMED = "usr/local/bin usr/local/include **/SelfTest **/zstandard/_cffi*.so **/*.pyi **/*.pyx **/*.pxd **/*.c **/*.h".split()
#: What grpcio-tools asks for, and protoc does not use.
BESIDE_PROTOC = (
    "**/site-packages/grpc **/setuptools **/pkg_resources **/_distutils_hack **/distutils-precedence.pth".split()
)
FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/nsswitch.conf", "/etc/debian_version", "/etc/os-release")
#: Writable for any user: settings and data of containers with another user id, and scripts that others change. A new volume at one
#: of these paths is, too: an engine makes a volume as the folder that it is mounted over, and any other belongs to root.
WRITABLE = (
    "/tmp /run/pykbroker /var/lib/pykbroker /var/lib/kafka /var/lib/kafka/data /tmp/kraft-combined-logs /tmp/kafka-logs /data "
    "/opt/kafka/config /opt/kafka /etc/kafka /etc/kafka/secrets /etc/kafka/docker /etc/confluent/docker /mnt/shared/config "
    "/home/appuser"
).split()
USER = 1000
USERS = "root:x:0:0:root:/root:/bin/bash\nappuser:x:1000:1000::/home/appuser:/bin/bash\n"
GROUPS = "root:x:0:\nappuser:x:1000:\n"
_LDD = re.compile(r"(?:=> )?(/\S+) \(0x")


class Root:
    """A folder as the root of a system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._taken: set[str] = set()

    def make_folders(self) -> None:
        """Create folders as on this system: if /bin is a link to /usr/bin, it is one there."""
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.folder / "usr" / name).mkdir(parents=True, exist_ok=True)
            if os.path.islink(f"/{name}"):
                os.symlink(os.readlink(f"/{name}"), self.folder / name)
        for name in WRITABLE:
            self.inside(name).mkdir(parents=True, exist_ok=True)
        make_writable(self.folder)

    def inside(self, path: str | Path) -> Path:
        """Return a path of the system within the folder."""
        return self.folder / str(path).lstrip("/")

    def take(self, path: str, place: str | None = None) -> None:
        """Copy a file of this system, with its libraries and the links to it, to ``place`` or to its own path."""
        if path in self._taken:
            return
        self._taken.add(path)
        target = self.inside(place or path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.islink(path) and place is None:
            if not target.exists() and not target.is_symlink():
                os.symlink(os.readlink(path), target)
            self.take(os.path.join(os.path.dirname(path), os.readlink(path)))
            return
        shutil.copy2(path, target)
        self.take_libraries_of(path)

    def take_libraries_of(self, path: str) -> None:
        """Copy the libraries of a program, its loader included. Static programs have none."""
        said = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        for library in _LDD.findall(said):
            in_python = library.startswith(sys.base_prefix) and sys.base_prefix not in ("/usr", "/")
            self.take(library, f"/usr/local/lib/{os.path.basename(library)}" if in_python else None)

    def take_python(self) -> None:
        """Copy Python to /usr/local, wherever it is here: it finds its library relative to its program."""
        library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
        name = library.name
        self.take(os.path.realpath(f"{sys.base_prefix}/bin/{name}"), f"/usr/local/bin/{name}")
        for link in ("python3", "python"):
            os.symlink(name, self.inside(f"/usr/local/bin/{link}"))
        target = self.inside(f"/usr/local/lib/{name}")
        shutil.copytree(library, target, ignore=shutil.ignore_patterns(*LEFT_OUT, "__pycache__"), symlinks=True)
        for module in target.glob("lib-dynload/*.so"):
            self.take_libraries_of(str(library / "lib-dynload" / module.name))
        (target / "site-packages").mkdir()

    def finish(self) -> None:
        for name in FILES:
            if os.path.exists(name):
                self.inside(name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(name, self.inside(name))
        self.inside("/etc/passwd").write_text(USERS)
        self.inside("/etc/group").write_text(GROUPS)
        self.inside("/etc/ld.so.conf").write_text("/usr/local/lib\n" + "".join(f"{each}\n" for each in self._folders()))
        subprocess.run(["ldconfig", "-r", str(self.folder)], check=True)

    def _folders(self) -> set[str]:
        """Return the folders of libraries."""
        found = (path.parent for path in self.folder.rglob("*.so.*"))
        return {f"/{path.relative_to(self.folder)}" for path in found} - {"/usr/local/lib"}


def library_paths(names: list[str]) -> list[str]:
    """Return the paths of libraries on this system; newer versions of glibc lack some."""
    known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    for file, path in re.findall(r"^\s*(\S+) \(libc6[^)]*\) => (\S+)$", known, re.MULTILINE):
        found.setdefault(file.partition(".so")[0], path)
    return [found[name] for name in names if name in found]


def make_writable(layer: Path) -> None:
    """Make the folders of ``WRITABLE`` in a layer writable for every user, and owned by the image's user.

    Those in /tmp are root's: a broker refuses a log directory there that any other user made.
    """
    for name in WRITABLE:
        place = layer / name.lstrip("/")
        if place.is_dir():
            owner = 0 if name.startswith("/tmp/") else USER
            place.chmod(0o1777 if name == "/tmp" else 0o777)
            os.chown(place, owner, owner)


def trim(layer: Path) -> None:
    for pattern in (*TRIMMED, *BESIDE_PROTOC):
        for found in list(layer.glob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()


def compile_all(layer: Path) -> None:
    """Compile all modules; those that this Python cannot compile (made for a later one, say) stay sources."""
    for library in layer.glob("usr/local/lib/python3*"):
        compileall.compile_dir(
            library, quiet=2, maxlevels=30, legacy=True, workers=0, stripdir=str(layer), prependdir="/",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip
        for source in library.rglob("*.py"):
            if source.with_suffix(".pyc").exists():
                source.unlink()


def add_scripts(folder: Path, layer: Path) -> None:
    programs, kafka = layer / "usr/local/bin", layer / "opt/kafka/bin"
    kafka.mkdir(parents=True)
    shutil.copytree(folder / "etc", layer / "etc")
    shutil.copytree(folder / "bin", programs, dirs_exist_ok=True)
    for place in (layer / "etc", *filter(Path.is_dir, (layer / "etc").rglob("*"))):
        place.chmod(0o755)  # whatever the mode of the source folder
    for script in (layer / "etc").rglob("docker/*"):
        os.chown(script, USER, USER)
    make_writable(layer)
    (packages,) = layer.glob("usr/local/lib/python3*/site-packages")
    sys.path.insert(0, str(packages))
    from pykbroker.container.tools.table import TOOLS
    from pykbroker.container.tools.unsupported import INSTEAD

    for program in (folder / "stand_ins").glob("*.py"):
        shutil.copy2(program, programs / program.stem)
    (programs / "ub").symlink_to("cub")
    (kafka / "zookeeper-server-start.sh").symlink_to("/usr/local/bin/zookeeper-server-start")
    for name in (*TOOLS, *INSTEAD):
        (programs / name).symlink_to("/usr/local/bin/kafka-tool")
        (kafka / f"{name}.sh").symlink_to("/usr/local/bin/kafka-tool")


def system(layer: Path) -> None:
    root = Root(layer)
    root.make_folders()
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        if found is None:
            sys.exit(f"this system has no {program}")
        root.take(found)
    # Not dash, Debian's sh, which drops variables that are no shell names: KAFKA_LISTENER_NAME_..._SCRAM-SHA-256_...
    root.inside("/usr/bin/sh").symlink_to("bash")
    for library in library_paths(LIBRARIES):
        root.take(library)
    root.take_python()
    root.finish()
    compile_all(layer)


if __name__ == "__main__":
    step, *folders = sys.argv[1:]
    {"system": system, "trim": trim, "compile": compile_all, "scripts": add_scripts}[step](*map(Path, folders))
