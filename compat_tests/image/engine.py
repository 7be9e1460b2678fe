"""Builds and runs our Dockerfile without a container engine: its steps are carried out in a copy of this system's root.

The root is an overlay in a mount namespace of its own, gone with the process that holds it: this system is read through
it and nothing is written to it. In the place of the base image stands a bare virtual environment. A container runs in a
network namespace of its own, so that ports are free. All of it needs Linux and root; ``available`` says whether it works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from compat_tests.harness.clone import clone
from compat_tests.harness.process import ROOT
from compat_tests.image.dockerfile import in_context, steps

_PATH = "/usr/local/base/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
#: Mounts the overlay at $1/root, hides the sources ($2) in it, says so, and stays.
_HOLD = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
mount --rbind /proc "$1/root/proc"
mount -t tmpfs tmpfs "$1/root$2"
echo held
exec cat
"""
_LOOPBACK = "ip link set lo up 2> /dev/null || ifconfig lo up"
_TRIAL = """
t=$(mktemp -d) && mount -t tmpfs tmpfs $t && mkdir $t/upper $t/work $t/root &&
mount -t overlay overlay -o lowerdir=/,upperdir=$t/upper,workdir=$t/work $t/root && chroot $t/root true && umount $t/root $t && rmdir $t
""".strip().replace("\n", " ")
_IN_FOLDER = 'cd "$1" && shift && exec "$@"'


class BuildFailed(RuntimeError):
    """A step of the Dockerfile failed; the message has its last words."""


def available() -> bool:
    """Whether this process may make namespaces and overlays, and has the tools for it."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter"))):
        return False
    trial = f"{_TRIAL} && {_LOOPBACK}"
    done = subprocess.run(["unshare", "--mount", "--net", "sh", "-c", trial], capture_output=True, check=False)
    return done.returncode == 0


class Image:
    """The root and the settings that the Dockerfile's steps have made."""

    def __init__(self, holder: int, root: Path) -> None:
        self._holder = holder
        self._root = root
        self.environment = {"PATH": _PATH}
        self.folder = "/"
        self.user = "0:0"
        self.entry: list[str] = []
        self.command: list[str] = []

    def build(self, dockerfile: Path, context: Path) -> None:
        """Carries out the steps. Raises BuildFailed."""
        for step in steps(dockerfile):
            instruction = step.instruction
            words = [] if instruction == "RUN" else step.words()
            if instruction == "RUN":
                self._checked(["sh", "-c", step.text])
            elif instruction == "COPY":
                self._copy(context, words)
            elif instruction == "WORKDIR":
                self.folder = words[0]
                self._checked(["mkdir", "-p", self.folder], folder="/")
            elif instruction == "ENV":
                self.environment |= dict(word.split("=", 1) for word in words)
            elif instruction == "USER":
                self.user = words[0]
            elif instruction == "ENTRYPOINT":
                self.entry = words
            elif instruction == "CMD":
                self.command = words
            elif instruction not in ("FROM", "EXPOSE", "VOLUME"):
                raise BuildFailed(f"{instruction} is not known here")

    def as_root(self, *command: str) -> str:
        """What a command prints in the root, run by root in ``/``. Raises BuildFailed."""
        return self._checked(command, folder="/")

    @contextmanager
    def container(self, *command: str, user: str | None = None) -> Iterator[Container]:
        """``docker run [--user USER] IMAGE COMMAND...``, killed at the end."""
        user = user or self.user
        wanted = [
            "sh",
            "-c",
            f'{_LOOPBACK}; exec "$@"',
            "sh",
            *self._inside([*self.entry, *(command or self.command)], user),
        ]
        process = subprocess.Popen(
            ["nsenter", "--mount", f"--target={self._holder}", "unshare", "--net", *wanted],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            try:
                yield Container(self, process, user)
            finally:
                process.kill()

    def _inside(
        self, command: Sequence[str], user: str, folder: str | None = None, more: dict[str, str] | None = None
    ) -> list[str]:
        """A command line that goes into the root and runs ``command`` there, as ``user`` and with the image's environment."""
        environment = [f"{name}={value}" for name, value in {**(more or {}), **self.environment}.items()]
        enter = ["chroot", f"--userspec={user}", "--groups=", str(self._root)]
        return [*enter, "env", "-i", *environment, "sh", "-c", _IN_FOLDER, "sh", folder or self.folder, *command]

    def _checked(self, command: Sequence[str], folder: str | None = None) -> str:
        inside = self._inside(command, "0:0", folder, more=dict(os.environ))  # how packages are found is said there
        done = subprocess.run(
            ["nsenter", "--mount", f"--target={self._holder}", *inside], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BuildFailed(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return done.stdout

    def _copy(self, context: Path, words: list[str]) -> None:
        *sources, target = words
        place = f"/proc/{self._holder}/root{self._root}{os.path.normpath(f'{self.folder}/{target}')}"
        for source in sources:
            found = context / source
            if found.is_dir():
                shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(found, Path(place) / found.name)


class Container:
    """A running command of an image. ``process`` is it: signals go straight to it."""

    def __init__(self, image: Image, process: subprocess.Popen[str], user: str) -> None:
        self._image = image
        self.process = process
        self._user = user

    def execute(self, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """``docker exec -i CONTAINER COMMAND...``."""
        inside = self._image._inside(command, self._user)
        enter = ["nsenter", "--mount", "--net", f"--target={self.process.pid}"]
        return subprocess.run([*enter, *inside], input=given, capture_output=True, text=True, check=False)


@contextmanager
def build(scratch: Path, dockerfile: Path = ROOT / "Dockerfile") -> Iterator[Image]:
    """The image that a Dockerfile makes of the repository; gone at the end. Raises BuildFailed."""
    context, overlay = scratch / "context", scratch / "overlay"
    overlay.mkdir(parents=True)
    clone(context)
    ignored = context / ".dockerignore"
    rules = ignored.read_text() if ignored.exists() else ""
    for path in sorted(context.rglob("*"), reverse=True):
        name = str(path.relative_to(context))
        if path.is_symlink() or not path.is_dir():
            if not in_context(name, rules):
                path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()
    hold = ["unshare", "--mount", "--propagation=private", "sh", "-c", _HOLD, "sh", str(overlay), str(ROOT)]
    with subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            image = Image(holder.pid, overlay / "root")
            python = os.path.realpath(sys.executable)
            for folder in Path(python).parents:
                image.as_root("chmod", "a+rx", str(folder))  # of the root's copy: any user of the image may run it
            image.as_root(python, "-m", "venv", "/usr/local/base")
            image.build(dockerfile, context)
            yield image
        finally:
            holder.kill()
