"""Containers of a real engine, with the methods of ``engine.Image`` and ``container.Container``.

An engine is a command line, ``docker`` or ``podman``; PYKBROKER_ENGINES names others, separated by commas. One that answers is used. It
builds the Dockerfile, unless PYKBROKER_IMAGE names an image that it has. Its published ports must be those of this process.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import socket
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from compat_tests.harness.clone import clone
from compat_tests.harness.process import ROOT
from compat_tests.image.container import PATIENCE_S, Container
from compat_tests.image.dockerfile import Step, steps
from compat_tests.image.engine import BuildFailed

_NAMES = count()
_TAG = "pykbroker-tests"


class Engine:
    """``command`` is the engine's command line."""

    def __init__(self, command: str) -> None:
        self.name = command
        self._command = shlex.split(command)

    @property
    def is_podman(self) -> bool:
        return PurePosixPath(self._command[0]).name == "podman"

    def words(self, *words: str) -> list[str]:
        return [*self._command, *words]

    def answers(self) -> bool:
        if shutil.which(self._command[0]) is None:
            return False
        done = subprocess.run(self.words("info"), capture_output=True, timeout=60, check=False)
        return done.returncode == 0

    def run(self, *words: str, given: bytes = b"") -> str:
        """What a command prints. Raises CalledProcessError."""
        done = subprocess.run(self.words(*words), input=given, capture_output=True, timeout=PATIENCE_S, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(words)}: {done.stderr.decode()}{done.stdout.decode()}")
        return done.stdout.decode()

    def inspect(self, name: str) -> dict[str, Any]:
        (found,) = json.loads(self.run("inspect", name))
        return found  # type: ignore[no-any-return]


@cache
def engines() -> list[Engine]:
    """Those that answer."""
    named = os.environ.get("PYKBROKER_ENGINES", "docker,podman").split(",")
    return [engine for engine in map(Engine, filter(None, named)) if engine.answers()]


class RealImage:
    """An image that an engine has. Files that are written here are in the next container."""

    def __init__(self, engine: Engine, tag: str) -> None:
        self.engine = engine
        self.tag = tag
        self.said: dict[str, Step] = {step.instruction: step for step in steps(ROOT / "Dockerfile")}
        self._files: list[tarfile.TarInfo] = []
        self._contents: list[bytes] = []

    def empty(self, *folders: str) -> None:
        """A container begins with nothing in them."""
        self._files.clear()
        self._contents.clear()

    def restore(self, path: str) -> None:
        """A container begins with the script as it is in the image."""

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        self._files.append(_entry(path, mode, len(content.encode())))
        self._contents.append(content.encode())

    def make_folder(self, path: str, mode: int) -> None:
        entry = _entry(path, mode, 0)
        entry.type, entry.uid, entry.gid = tarfile.DIRTYPE, 0, 0
        self._files.append(entry)
        self._contents.append(b"")

    def remove(self, path: str) -> None:
        """Nothing of an earlier container is here."""

    def is_checked(self) -> bool:
        """Whether it has a check of health; in OCI's format none has."""
        said = self.engine.inspect(self.tag)
        return "Healthcheck" in said or "Healthcheck" in said["Config"]  # Podman, Docker

    @contextmanager
    def container(
        self,
        *command: str,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        entry: Sequence[str] | None = None,
        hosts: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> Iterator[RealContainer]:
        """``docker run OPTIONS IMAGE COMMAND...``, removed at the end."""
        name = f"pykbroker-tests-{os.getpid()}-{next(_NAMES)}"
        words = ["create", "--name", name, "--hostname", socket.gethostname(), *options]
        words += [f"--user={user}"] if user else []
        words += [f"--env={each}={value}" for each, value in (environment or {}).items()]
        words += [f"--add-host={each}:127.0.0.1" for each in hosts]
        words += [] if entry is None else [f"--entrypoint={entry[0]}"]
        self.engine.run(*words, self.tag, *([] if entry is None else entry[1:]), *command)
        try:
            for entry_, content in zip(self._files, self._contents, strict=True):
                self.engine.run("cp", "-", f"{name}:/", given=_archive(entry_, content))
            self.engine.run("start", name)
            logs = self.engine.words("logs", "--follow", name)
            with subprocess.Popen(logs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                container = RealContainer(self.engine, name, process)
                try:
                    yield container
                finally:
                    container.kill()
        finally:
            subprocess.run(self.engine.words("rm", "--force", "--volumes", name), capture_output=True, check=False)


class RealContainer(Container):
    """``process`` prints what the container prints."""

    def __init__(self, engine: Engine, name: str, process: subprocess.Popen[str]) -> None:
        super().__init__(None, process, "", {})  # type: ignore[arg-type]
        self._engine = engine
        self.name = name

    def stop(self, number: int) -> None:
        """A clean end: the status is that of the broker, which got the image's STOPSIGNAL."""
        self._engine.run("stop", self.name)
        status = self._engine.inspect(self.name)["State"]["ExitCode"]
        assert status == 0, "\n".join([str(status), *self.lines])

    def ended(self) -> int:
        return int(self._engine.run("wait", self.name))

    def kill(self) -> None:
        self._engine.run("rm", "--force", "--volumes", self.name)
        for thread in self._reading:
            thread.join(PATIENCE_S)

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        entry = _entry(path, mode, len(content.encode()))
        self._engine.run("cp", "-", f"{self.name}:/", given=_archive(entry, content.encode()))

    def execute(
        self, *command: str, given: str = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        more = [f"--env={name}={value}" for name, value in (environment or {}).items()]
        words = self._engine.words("exec", "--interactive", *more, self.name, *command)
        return subprocess.run(words, input=given, capture_output=True, text=True, check=False)

    def health(self) -> str:
        """``starting``, ``healthy`` or ``unhealthy``; empty where the engine keeps no checks of this image. Podman's checks are run
        by a timer of systemd, which a machine may lack: it is told to run one.
        """
        if self._engine.is_podman:
            subprocess.run(self._engine.words("healthcheck", "run", self.name), capture_output=True, check=False)
        state = self._engine.inspect(self.name)["State"]
        return str((state.get("Health") or state.get("Healthcheck") or {}).get("Status", ""))


def _entry(path: str, mode: int, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(str(PurePosixPath(path).relative_to("/")))
    entry.mode, entry.size, entry.uid, entry.gid = mode, size, 1000, 1000
    return entry


def _archive(entry: tarfile.TarInfo, content: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def build(engine: Engine) -> RealImage:
    """The image that the engine makes of the repository, or that of PYKBROKER_IMAGE. Raises BuildFailed."""
    named = os.environ.get("PYKBROKER_IMAGE")
    if named:
        return RealImage(engine, named)
    context = ROOT / "build" / "image-context"  # an engine elsewhere sees the repository, and not /tmp
    shutil.rmtree(context, ignore_errors=True)
    clone(context)
    kept = ["--format=docker"] if engine.is_podman else []  # OCI's format has no check of health
    done = subprocess.run(
        engine.words("build", "--network=host", *kept, f"--tag={_TAG}", str(context)),
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(context)
    if done.returncode:
        raise BuildFailed(f"{engine.name} build: {done.stderr[-3000:]}{done.stdout[-1000:]}")
    return RealImage(engine, _TAG)
