"""Servers as processes: started, stopped, killed, measured.

``ApacheKafka`` and ``Pykbroker`` differ only in the command that starts them and in how they report that they are
ready; a test takes either. Programs on top of them (a Connect worker, MirrorMaker) are ``ServerProcess`` too.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import struct
import subprocess
import time
import weakref
from abc import ABC, abstractmethod
from pathlib import Path

#: The state of a socket in /proc/net/tcp.
_LISTENS = "0A"
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
#: Delay of the first round of retention (log.initial.task.delay.ms): longer than these tests run, since many write
#: records
#: with timestamps of years ago.
NO_RETENTION_MS = "3600000"

_running: weakref.WeakSet[ServerProcess] = weakref.WeakSet()


class ServerFailed(RuntimeError):
    """A server did not start or did not stop; the message ends with the last lines of its log."""


ROOT = Path(__file__).resolve().parents[2]


class ServerProcess(ABC):
    """One server process with a folder of its own. ``start`` returns when it answers requests."""

    #: The name in reports.
    name: str
    #: The name of its log file in the folder.
    log_name = "server.log"
    start_limit_s = 120.0

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log_file = folder / self.log_name
        self.host = "127.0.0.1"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that starts the server."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether requests are answered; polled while the process starts."""

    #: Working directory of the process, from which Python imports first.
    working_directory: Path = ROOT

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} is not running"
        return self.process.pid

    def start(self) -> None:
        """Start and wait until requests are answered. Raises ServerFailed with the end of the log."""
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        """Start without waiting, so that several servers can start in parallel."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, env=self.environment(), cwd=self.working_directory
            )
        _running.add(self)

    def await_ready(self) -> None:
        """Wait until requests are answered. Raises ServerFailed with the end of the log."""
        assert self.process is not None, f"{self.name} was not launched"
        deadline = time.monotonic() + self.start_limit_s
        while not self.is_ready():
            if self.process.poll() is not None:
                raise ServerFailed(f"{self.name} ended with {self.process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise ServerFailed(f"{self.name} was not ready in {self.start_limit_s:.0f} s:\n{self.log_tail()}")
            time.sleep(0.005)

    def stop(self, limit_s: float = 60.0) -> int:
        """Send SIGTERM, wait, and return the exit status. Raises ServerFailed if it does not exit."""
        return self._end(signal.SIGTERM, limit_s)

    def kill(self) -> int:
        """Send SIGKILL and wait: nothing is flushed, and clients are not informed."""
        return self._end(signal.SIGKILL, 30.0)

    def restart(self) -> None:
        """Shut down cleanly, and start with the same folder and port."""
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
            raise ServerFailed(
                f"{self.name} did not end {limit_s:.0f} s after {sent.name}:\n{self.log_tail()}"
            ) from None

    def log_tail(self, lines: int = 40) -> str:
        if not self.log_file.exists():
            return "(no log)"
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def cpu_seconds(self, *, children: bool = False) -> float:
        """Return the user and system CPU seconds of all threads; with ``children`` also of children that have exited."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11 : 15 if children else 13])) / _CLOCK_TICKS

    def memory_mb(self) -> float:
        """Return the resident memory of the process in MB (10^6 bytes)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
        raise ServerFailed(f"/proc/{self.pid}/status names no VmRSS")


class BrokerProcess(ServerProcess):
    """One broker process. Its ``name`` is a value of ``PYKBROKER_TARGET``; it keeps ``data_dir`` across restarts."""

    log_name = "broker.log"

    def __init__(self, folder: Path, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder)
        self.data_dir = folder / "data"
        self.settings = dict(settings or {})

    @property
    def bootstrap(self) -> str:
        """Return ``host:port`` for clients."""
        return f"{self.host}:{self.port}"


def stop_turns(pid: int) -> None:
    """Send SIGSTOP to a process that this one has started, and return when none of its threads runs any more: the first of them that
    gets a turn stops them all, and on a busy machine others run until then.
    """
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED)


def answers_api_versions(host: str, port: int) -> bool:
    """Whether an ApiVersions v0 request to this address is answered."""
    request = struct.pack(">hhih", 18, 0, 1, -1)
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return len(connection.recv(4)) > 0
    except OSError:
        return False


def listening_ports() -> set[int]:
    """The TCP ports of this machine that are listened on, found without connecting to them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            for line in Path(table).read_text().splitlines()[1:]:
                _, address, _, state, *_ = line.split()
                if state == _LISTENS:
                    found.add(int(address.rpartition(":")[2], 16))
    return found


@atexit.register
def _kill_what_is_left() -> None:
    """Kill servers that an interrupted test run leaves."""
    for server in list(_running):
        server.kill()
