"""A running container of an image that ``engine`` has built: what it prints, commands in it, its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat_tests.image.engine import Image

#: Nobody waits so long, unless something hangs: how fast a container is is no subject of the tests.
PATIENCE_S = 900
LOOPBACK = "ip link set lo up 2> /dev/null || ifconfig lo up"


class Ended(AssertionError):
    """The container ended, or says nothing more, and has not said what was waited for; the message has what it said."""


class Container:
    """``process`` is what runs in it: signals go straight to it."""

    def __init__(self, image: Image, process: subprocess.Popen[str], user: str, environment: Mapping[str, str]) -> None:
        self._image = image
        self.process = process
        self._user = user
        self._environment = environment
        self.lines: list[str] = []
        self._said = threading.Condition()
        self._open = 2
        self._reading = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (process.stdout, process.stderr)
        ]
        for thread in self._reading:
            thread.start()

    def _read(self, stream: object) -> None:
        for line in stream:  # type: ignore[attr-defined]
            with self._said:
                self.lines.append(line.rstrip("\n"))
                self._said.notify_all()
        with self._said:
            self._open -= 1
            self._said.notify_all()

    def stop(self, number: int) -> None:
        """``docker stop``: a clean end, at once."""
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE_S)
        assert status == 0, "\n".join([str(status), *self.lines])

    def ended(self) -> int:
        """The exit status, once it has ended by itself."""
        return self.process.wait(PATIENCE_S)

    def write(self, path: str, content: str, mode: int = 0o644) -> None:
        """``docker cp``: the file is there at once, and whole."""
        self._image.write(path, content, mode)

    def kill(self) -> None:
        """All that runs in it, as an engine does."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for thread in self._reading:
            thread.join(PATIENCE_S)

    def wait_for(self, pattern: str, timeout_s: float = PATIENCE_S) -> str:
        """The first line, of either output, that an expression finds something in. Raises Ended."""

        def found() -> str | None:
            return next((line for line in self.lines if re.search(pattern, line)), None)

        with self._said:
            self._said.wait_for(lambda: found() or not self._open, timeout_s)
            line = found()
        if line is None:
            raise Ended("\n".join([f"nothing like {pattern}", *self.lines]))
        return line

    def execute(
        self, *command: str, given: str = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``docker exec -i [--env NAME=VALUE] CONTAINER COMMAND...``."""
        inside = self._image.inside(command, self._user, {**self._environment, **(environment or {})})
        enter = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", "--mount", f"--target={self._image.holder}"]
        return subprocess.run([*enter, *inside], input=given, capture_output=True, text=True, check=False)
