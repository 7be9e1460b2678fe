"""Several runs of pytest side by side. What each printed is in build/test-N.log, and is shown when all have ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.jars import ROOT

#: How often it is said how far the lanes are: on a terminal, where the line is written over, and elsewhere.
TERMINAL_S, ELSEWHERE_S = 1.0, 60.0


@dataclass
class Lane:
    """One run of pytest with these arguments."""

    name: str
    arguments: tuple[str, ...]
    log: Path = field(init=False)
    process: subprocess.Popen[bytes] = field(init=False)
    _said: str = field(init=False, default="collecting")

    def start(self, folder: Path) -> None:
        self.log = folder / f"test-{self.name.replace(' ', '-')}.log"
        self._progress.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-p", "scripts.test_job.progress", *self.arguments]
        environment = {**os.environ, "LANE_PROGRESS": str(self._progress)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)

    @property
    def _progress(self) -> Path:
        return self.log.with_suffix(".progress")

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def how_far(self) -> str:
        """As in ``all others: 120 of 900, 1 failed``."""
        with contextlib.suppress(OSError, ValueError):  # not written yet, or being written: as before
            finished, wanted, failed = self._progress.read_text().split()
            self._said = f"{finished} of {wanted}{f', {failed} failed' if failed != '0' else ''}"
        return f"{self.name}: {self._said}{'' if self.running else ' (ended)'}"


def run(lanes: Sequence[Lane], folder: Path = ROOT / "build") -> int:
    """Runs them all; shows what they printed, the last lane's last. The status is 0, or the first one that is not."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as started:
        for lane in lanes:
            lane.start(folder)
            started.callback(_end, lane)
        _follow(lanes)
    for lane in lanes:
        sys.stdout.flush()
        sys.stdout.buffer.write(lane.log.read_bytes())
    sys.stdout.flush()
    return next((lane.process.returncode for lane in lanes if lane.process.returncode), 0)


def _follow(lanes: Sequence[Lane]) -> None:
    """Says how far they are until all have ended."""
    terminal = sys.stdout.isatty()
    every = TERMINAL_S if terminal else ELSEWHERE_S
    shown = 0.0
    for lane in lanes:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                lane.process.wait(TERMINAL_S)
            if time.monotonic() >= shown + every or not lane.running:
                shown = time.monotonic()
                line = "; ".join(each.how_far() for each in lanes)
                print(f"\r\x1b[K{line}" if terminal else line, end="" if terminal else "\n", flush=True)
            if not lane.running:
                break
    if terminal:
        print()


def _end(lane: Lane) -> None:
    """Where this run is interrupted, so are its lanes: they stop the brokers that they have started."""
    if lane.running:
        lane.process.send_signal(signal.SIGINT)
        lane.process.wait()
