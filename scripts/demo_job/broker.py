"""The broker of the demo: a pykbroker process, which can be killed and restarted."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

from scripts.demo_job.data import DemoError
from scripts.jars import ROOT

_READY = re.compile(rb"^pykbroker ready: .* on (\S+?):(\d+)", re.MULTILINE)


class DemoBroker:
    """A pykbroker on a free port of 127.0.0.1, with data and log in ``folder``. A restart keeps the port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.kills = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, limit_s: float = 20.0) -> float:
        """Start and wait for the line that it is ready; returns the seconds. Raises DemoError with the end of the log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / "broker.log"
        earlier = log.stat().st_size if log.exists() else 0
        command = [sys.executable, "-m", "pykbroker", "serve"]
        command += ["--listen", self.bootstrap, "--data-dir", str(self.folder / "data")]
        begun = time.monotonic()
        with log.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT)
        while (ready := _READY.search(log.read_bytes()[earlier:])) is None:
            if self._process.poll() is not None or time.monotonic() > begun + limit_s:
                self.stop()
                tail = log.read_text(errors="replace")[-2000:]
                raise DemoError(f"The broker did not start. The end of {log}:\n{tail}")
            time.sleep(0.005)
        self.port = int(ready[2])
        return time.monotonic() - begun

    def kill(self) -> None:
        """Send SIGKILL: nothing is flushed, and clients are not informed."""
        assert self._process is not None, "the broker is not running"
        self._process.kill()
        self._process.wait()
        self._process = None
        self.kills += 1

    def stop(self) -> None:
        """Send SIGTERM and wait; does nothing if it does not run."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def memory_mb(self) -> float:
        """Return the resident memory in MB; 0 if it does not run, or the system does not report it."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text() if self._process else ""
        except OSError:
            status = ""
        found = re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)
        return int(found[1]) * 1024 / 1e6 if found else 0.0
