"""Brokers in a process of their own, for tests that kill them or need their own process's CPU time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pykbroker.process.log_directories import StartFailed
from pykbroker.runtime.temporary import TESTS, TemporaryFolder

if TYPE_CHECKING:
    from pykbroker.seeding.seed import Seed

_KEPT_LINES: Final = 200
#: How long an orderly stop may take before the process is killed.
_STOP_S: Final = 30.0


class Separate:
    """``pykbroker serve`` as a child process, which ends with this process however that ends."""

    def __init__(
        self,
        settings: dict[str, str],
        brokers: int,
        data_dir: Path | None,
        seed: Seed | None = None,
        options: Iterable[tuple[str, str | None]] = (),
        *,
        http_token: str | None = None,
    ) -> None:
        """``options`` are further ones of ``serve``, those with a value; ``http_token`` is what requests by HTTP must send."""
        where = ["--ephemeral"] if data_dir is None else ["--data-dir", str(data_dir)]
        given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        self._command = [
            *(sys.executable, "-m", "pykbroker", "serve", "--exit-with-parent", "--json", "--brokers", str(brokers)),
            *(*where, *given, *(word for name, value in options if value is not None for word in (name, value))),
        ]
        self._seed = seed
        self.http_token = http_token
        self._folder: TemporaryFolder | None = None
        self._running: subprocess.Popen[str] | None = None
        self._addresses: list[str] = []
        self.http: str | None = None
        self.schema_registry: str | None = None
        self._reading: threading.Thread | None = None
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    @property
    def running(self) -> bool:
        return self._running is not None

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError if the process does not run."""
        if self._running is None:
            raise RuntimeError("the broker is not running; enter it with `with`, or call start()")
        return self._running.pid

    def start(self) -> None:
        """Start the process; returns when clients are accepted. Raises StartFailed with its output; then it has ended."""
        # A session of its own: Ctrl-C must end the tests only, which then stop the broker.
        running = self._running = subprocess.Popen(  # noqa: S603 - this interpreter, and settings as single words
            [*self._command, *self._seeded(), *self._guarded()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._reading = threading.Thread(target=self._read_log, args=(running,), name="pykbroker-log", daemon=True)
            self._reading.start()
            assert running.stdout is not None
            ready = running.stdout.readline()
            self._addresses, summary = _addresses(ready), json.loads(ready or "{}")
            self.http, self.schema_registry = summary.get("http"), summary.get("schema_registry")
        except BaseException:
            running.kill()
            self.stop()
            raise
        if not self._addresses:
            self.stop()
            raise StartFailed("\n".join(self.lines) or "the process of the broker ended before it was ready")

    def _seeded(self) -> list[str]:
        if self._seed is None:
            return []
        from pykbroker.seeding.writing import write

        path = self._private_folder() / "seed.jsonl"
        write(self._seed, path)
        return ["--seed", str(path)]

    def _guarded(self) -> list[str]:
        """The token in a file, since every process of this machine sees the words of a command."""
        if self.http_token is None:
            return []
        path = self._private_folder() / "http-token"
        path.touch(mode=0o600)
        path.write_text(self.http_token)
        return ["--http-token-file", str(path)]

    def _private_folder(self) -> Path:
        """A folder that goes when the process is stopped."""
        self._folder = self._folder or TemporaryFolder(TESTS)
        return self._folder.path

    def _read_log(self, running: subprocess.Popen[str]) -> None:
        assert running.stderr is not None
        for line in running.stderr:
            self.lines.append(line.rstrip("\n"))

    def stop(self) -> None:
        """Stop the process in an orderly way. Harmless when repeated, and if it was killed."""
        running, self._running = self._running, None
        if running is None:
            return
        running.terminate()
        try:
            running.wait(_STOP_S)
        finally:
            running.kill()
            running.wait()
            if self._reading is not None:
                self._reading.join()
            for pipe in (running.stdout, running.stderr):
                if pipe is not None:
                    pipe.close()
            if self._folder is not None:
                self._folder.remove()
                self._folder = None

    def disown(self) -> None:
        """In a forked child: leave the process to the parent."""
        self._running = None
        if self._folder is not None:
            self._folder.disown()
            self._folder = None

    def addresses(self) -> list[str]:
        """``host:port`` of every broker. Raises RuntimeError if the process does not run."""
        _ = self.pid
        return self._addresses


def _addresses(ready: str) -> list[str]:
    """The address of each broker's first listener in the ready line of ``serve --json``; none in an empty line."""
    if not ready:
        return []
    summary: dict[str, Any] = json.loads(ready)
    bootstrap: str = summary["bootstrap"]
    return bootstrap.split(",")
