"""An archive whose job and broker are killed repeatedly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from compat_tests.harness.process import ROOT, BrokerProcess
from compat_tests.lake.conftest import SMALL
from pykbroker.runtime.temporary import LAKE, sweep
from scripts.jars import jars


class Killing:
    """``pykbroker lake archive --follow`` of some topics to ``folder``/lake; its log and Spark's files are in ``folder``, too."""

    def __init__(self, broker: BrokerProcess, topics: str, folder: Path, batch_records: int, limit_s: float) -> None:
        self.broker = broker
        self.lake = folder / "lake"
        self._log = folder / "job.log"
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        self._limit_s = limit_s
        self._command = [
            *(sys.executable, "-m", "pykbroker", "lake", "archive", "--topics", topics, "--to", str(self.lake)),
            *("-b", broker.bootstrap, "--follow", "--every", "50ms", "--batch-records", str(batch_records)),
            *("--master", "local[2]", "--jars", ",".join(map(str, jars("spark")))),
            *(word for name, value in SMALL.items() for word in ("--conf", f"{name}={value}")),
        ]

    def kill(self) -> None:
        """Start the job; kill the broker after two batches, and the job after two more."""
        with self._log.open("ab") as output:
            job = subprocess.Popen(
                self._command, cwd=ROOT, env={**os.environ, "TMPDIR": str(self._temporary)},
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        try:
            self._await_batches(2, job)
            self.broker.kill()
            self.broker.start()
            self._await_batches(2, job)
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        assert [each.name.startswith(LAKE) for each in self._temporary.iterdir()] == [True], (
            "each removes the last one's"
        )

    def sweep(self) -> None:
        """Remove the last job's temporary files, as the next job would, and check that none are left."""
        sweep(LAKE, self._temporary)
        assert list(self._temporary.iterdir()) == []

    def _await_batches(self, count: int, job: subprocess.Popen[bytes]) -> None:
        """Wait until the ledger has ``count`` more batches."""
        before = self._batches()
        deadline = time.monotonic() + self._limit_s
        while self._batches() < before + count:
            assert job.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)

    def _batches(self) -> int:
        return len(list((self.lake / "ledger").glob("*.json")))
