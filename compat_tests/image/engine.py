"""Builds and runs our Dockerfile without a container engine.

The builder's stages are carried out in a copy of this system's root: an overlay in a mount namespace of its own, gone with the
process that holds it; this system is read through it and nothing is written to it. In the place of the base image stands a bare
virtual environment. The last stage begins with nothing (``FROM scratch``), so its root is a folder that holds what the image
holds, and nothing else. A container runs in a network namespace of its own, so that ports are free. All of it needs Linux and
root; ``available`` says whether it works.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compat_tests.harness.clone import clone
from compat_tests.harness.process import ROOT
from compat_tests.image.container import LOOPBACK, Container
from compat_tests.image.dockerfile import Step, in_context, steps

_PATH = "/usr/local/base/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
#: Mounts the overlay at $1/root, hides the sources ($2) in it, makes the folder of the image beside it, says so, and stays.
_HOLD = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root" "$1/image"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t tmpfs tmpfs "$1/image"
for root in "$1/root" "$1/image"; do
    mkdir -p "$root/dev" "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /proc "$root/proc"
done
mount -t tmpfs tmpfs "$1/root$2"
echo held
exec cat
"""
_TRIAL = """
t=$(mktemp -d) && mount -t tmpfs tmpfs $t && mkdir $t/upper $t/work $t/root &&
mount -t overlay overlay -o lowerdir=/,upperdir=$t/upper,workdir=$t/work $t/root && chroot $t/root true && umount $t/root $t && rmdir $t
""".strip().replace("\n", " ")
_IN_FOLDER = 'cd "$1" && shift && exec "$@"'
#: Said of an image, and of no concern to its files.
_SAID = ("EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK")


class BuildFailed(RuntimeError):
    """A step of the Dockerfile failed; the message has its last words."""


def available() -> bool:
    """Whether this process may make namespaces and overlays, and has the tools for it."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter"))):
        return False
    trial = f"{_TRIAL} && {LOOPBACK}"
    done = subprocess.run(["unshare", "--mount", "--net", "sh", "-c", trial], capture_output=True, check=False)
    return done.returncode == 0


class Image:
    """The root and the settings that the Dockerfile's steps have made."""

    def __init__(self, holder: int, overlay: Path) -> None:
        self.holder = holder
        self._overlay = overlay
        self._root = overlay / "root"
        self._begin()

    def _begin(self) -> None:
        self.environment = {"PATH": _PATH}
        self.folder = "/"
        self.user = "0:0"
        self.entry: list[str] = []
        self.command: list[str] = []
        self.said: dict[str, Step] = {}

    def build(self, dockerfile: Path, context: Path) -> None:
        """Carries out the steps. Raises BuildFailed."""
        for step in steps(dockerfile):
            instruction = step.instruction
            words = [] if instruction in ("RUN", "HEALTHCHECK") else step.words()
            if instruction == "FROM":
                self._begin_stage(words)
            elif instruction == "RUN":
                self._checked(
                    ["sh", "-c", re.sub(r"^(\s*--mount=\S+)+", "", step.text)]
                )  # what is kept for later builds
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
            elif instruction in _SAID:
                self.said[instruction] = step
            else:
                raise BuildFailed(f"{instruction} is not known here")

    def _begin_stage(self, words: list[str]) -> None:
        """One that begins with another goes on in its root: they are in a line."""
        if words[0] == "scratch":
            self._begin()
            self._root = self._overlay / "image"

    def as_root(self, *command: str) -> str:
        """What a command prints in the root, run by root in ``/``. Raises BuildFailed."""
        return self._checked(command, folder="/")

    def place(self, path: str) -> Path:
        """A path of the root, as this process reaches it."""
        return Path(f"/proc/{self.holder}/root{self._root}{os.path.normpath(f'/{path}')}")

    def empty(self, *folders: str) -> None:
        """Take out all that lies in them."""
        for folder in folders:
            for found in self.place(folder).iterdir():
                shutil.rmtree(found) if found.is_dir() and not found.is_symlink() else found.unlink()

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """A file, in the place of another at once."""
        place = self.place(path)
        whole = place.with_name("whole")
        whole.write_text(content)
        whole.chmod(mode)
        os.chown(whole, 1000, 1000)
        whole.rename(place)

    def make_folder(self, path: str, mode: int) -> None:
        """A folder of root's."""
        self.place(path).mkdir()
        self.place(path).chmod(mode)

    def remove(self, path: str) -> None:
        """A file that a container may have left."""
        self.place(path).unlink(missing_ok=True)

    def restore(self, path: str) -> None:
        """A script as the repository has it: in a new container nobody has changed it."""
        place = self.place(path)
        owner = place.parent.stat()
        place.unlink()
        shutil.copy2(ROOT / "scripts/image" / path.lstrip("/"), place)
        os.chown(place, owner.st_uid, owner.st_gid)

    @contextmanager
    def container(
        self,
        *command: str,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        entry: Sequence[str] | None = None,
        network: Sequence[str] = (),
        hosts: Sequence[str] = (),
    ) -> Iterator[Container]:
        """``docker run [--user USER] [--env NAME=VALUE] [--entrypoint ENTRY] IMAGE COMMAND...``, killed at the end. ``network`` is
        what to put before a command so that it runs in a network that is there already; its own, without. ``hosts`` are further
        names of the container.
        """
        names = " ".join(["localhost", socket.gethostname(), *hosts])
        self.place("etc/hosts").write_text(f"127.0.0.1 {names}\n")  # an engine writes it
        user = user or self.user
        words = [*(self.entry if entry is None else entry), *(command or self.command)]
        own = ["unshare", "--net", "sh", "-c", f'{LOOPBACK}; exec "$@"', "sh"]
        given = dict(environment or {})
        process = subprocess.Popen(
            [*(network or ()), "nsenter", "--mount", f"--target={self.holder}", *([] if network else own), *self.inside(words, user, given)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )  # fmt: skip
        with process:
            container = Container(self, process, user, given)
            try:
                yield container
            finally:
                container.kill()

    def inside(
        self, command: Sequence[str], user: str, more: Mapping[str, str] | None = None, folder: str | None = None
    ) -> list[str]:
        """A command line that goes into the root and runs ``command`` there, as ``user`` and with the image's environment."""
        environment = [f"{name}={value}" for name, value in {**self.environment, **(more or {})}.items()]
        enter = ["chroot", f"--userspec={self._ids(user)}", "--groups=", str(self._root)]
        return [*enter, "env", "-i", *environment, "sh", "-c", _IN_FOLDER, "sh", folder or self.folder, *command]

    def _ids(self, user: str) -> str:
        """Of a name, by the image's own list: ``chroot`` would look in this system's."""
        if user[0].isdigit():
            return user
        found = re.search(rf"^{user}:[^:]*:(\d+):(\d+):", self.place("etc/passwd").read_text(), re.MULTILINE)
        assert found is not None, user
        return f"{found[1]}:{found[2]}"

    def _checked(self, command: Sequence[str], folder: str | None = None) -> str:
        more = {**os.environ, **self.environment}  # how packages are found is said there
        inside = self.inside(command, "0:0", more, folder)
        done = subprocess.run(
            ["nsenter", "--mount", f"--target={self.holder}", *inside], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BuildFailed(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            )
        return done.stdout

    def _copy(self, context: Path, words: list[str]) -> None:
        *sources, target = [word for word in words if not word.startswith("--from=")]
        if len(words) > len(sources) + 1:  # of an earlier stage
            (source,) = sources
            copy = ["cp", "--archive", f"{self._overlay}/root{source}/.", f"{self._root}{target}"]
            subprocess.run(["nsenter", "--mount", f"--target={self.holder}", *copy], check=True)
            return
        place = self.place(f"{self.folder}/{target}")
        for source in sources:
            found = context / source
            if found.is_dir():
                shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, place / found.name)


@contextmanager
def build(scratch: Path, dockerfile: Path = ROOT / "Dockerfile") -> Iterator[Image]:
    """The image that a Dockerfile makes of the repository; gone at the end. Raises BuildFailed."""
    context, overlay = scratch / "context", scratch / "overlay"
    overlay.mkdir(parents=True)
    clone(context)
    leave_out(context)
    hold = ["unshare", "--mount", "--propagation=private", "sh", "-c", _HOLD, "sh", str(overlay), str(ROOT)]
    with subprocess.Popen(hold, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            image = Image(holder.pid, overlay)
            image.as_root(os.path.realpath(sys.executable), "-m", "venv", "/usr/local/base")
            image.build(dockerfile, context)
            yield image
        finally:
            holder.kill()


def leave_out(context: Path) -> None:
    """What .dockerignore keeps from the builder."""
    ignored = context / ".dockerignore"
    rules = ignored.read_text() if ignored.exists() else ""
    for path in sorted(context.rglob("*"), reverse=True):
        name = str(path.relative_to(context))
        if path.is_symlink() or not path.is_dir():
            if not in_context(name, rules):
                path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()
