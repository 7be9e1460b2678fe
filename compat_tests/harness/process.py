"""A broker as a process of the operating system: started, stopped, killed, measured.

``ApacheKafka`` and ``Pykbroker`` differ only in the command that starts them and in how they say that they are ready;
a test takes either.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import signal
import socket
import struct
import subprocess
import time
import weakref
from abc import ABC, abstractmethod
from pathlib import Path

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
#: When the first round of retention comes (log.initial.task.delay.ms): not while these tests run, for many write records
#: with timestamps of years ago.
NO_RETENTION_MS = "3600000"

_running: weakref.WeakSet[BrokerProcess] = weakref.WeakSet()


class BrokerFailed(RuntimeError):
    """A broker did not start or did not stop; the message ends with the last lines of its log."""


class BrokerProcess(ABC):
    """One broker process with a folder of its own. ``start`` comes back once it answers requests."""

    #: The name used in reports and in ``PYKBROKER_TARGET``.
    name: str
    start_limit_s = 60.0

    def __init__(self, folder: Path, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.log_file = folder / "broker.log"
        self.settings = dict(settings or {})
        self.host = "127.0.0.1"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The command line that starts the broker on ``self.data_dir``."""

    @abstractmethod
    def is_ready(self) -> bool:
        """True once requests are answered; asked again and again while the process starts."""

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    @property
    def bootstrap(self) -> str:
        """``host:port``, as clients want it."""
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None, "the broker is not running"
        return self.process.pid

    def start(self) -> None:
        """Start and wait until requests are answered. Raises BrokerFailed with the end of the log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, env=self.environment(), cwd=ROOT)
        _running.add(self)
        deadline = time.monotonic() + self.start_limit_s
        while not self.is_ready():
            if self.process.poll() is not None:
                raise BrokerFailed(f"{self.name} ended with {self.process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise BrokerFailed(f"{self.name} was not ready in {self.start_limit_s:.0f} s:\n{self.log_tail()}")
            time.sleep(0.005)

    def stop(self, limit_s: float = 60.0) -> int:
        """SIGTERM and wait; the exit status. Raises BrokerFailed when it does not end."""
        return self._end(signal.SIGTERM, limit_s)

    def kill(self) -> int:
        """SIGKILL and wait: nothing is flushed, nothing is said to clients."""
        return self._end(signal.SIGKILL, 30.0)

    def restart(self) -> None:
        """A clean stop and a start on the same folder and port."""
        self.stop()
        self.start()

    def _end(self, sent: signal.Signals, limit_s: float) -> int:
        process, self.process = self.process, None
        _running.discard(self)
        if process is None:
            return 0
        process.send_signal(sent)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise BrokerFailed(
                f"{self.name} did not end {limit_s:.0f} s after {sent.name}:\n{self.log_tail()}"
            ) from None

    def log_tail(self, lines: int = 40) -> str:
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def cpu_seconds(self) -> float:
        """User and system CPU seconds of the process so far, all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS

    def memory_mb(self) -> float:
        """Resident memory of the process in MB (10^6 bytes)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise BrokerFailed(f"/proc/{self.pid}/status names no VmRSS")


ROOT = Path(__file__).resolve().parents[2]


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 in a row that were free a moment ago, below those that the system gives to clients.

    A broker that is started again on its port must find it free: among the clients' ports, one of those that try to
    reconnect may have got it meanwhile.
    """
    for _ in range(200):
        first = random.randrange(15_000, 32_000)
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return list(range(first, first + count))
    raise BrokerFailed(f"no {count} free ports in a row")


def answers_api_versions(host: str, port: int) -> bool:
    """True when an ApiVersions v0 request to this address is answered."""
    request = struct.pack(">hhih", 18, 0, 1, -1)
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(4)) > 0
    except OSError:
        return False


@atexit.register
def _kill_what_is_left() -> None:
    """A test run that is interrupted leaves no broker behind."""
    for broker in list(_running):
        broker.kill()
