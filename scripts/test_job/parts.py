"""The tests in parts, each a run of pytest of its own, several at a time. What each printed is in build/test-NAME.log, and is
shown when all have ended.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from scripts.jars import ROOT

#: How often it is said how far the parts are: on a terminal, where the line is written over, and elsewhere.
TERMINAL_S, ELSEWHERE_S = 1.0, 60.0
#: The last line of a run of pytest, as in ``== 1 failed, 4 passed in 2.50s ==``.
_CLOSING = re.compile(r"^(?:=+ )?(?P<counts>\d+ .*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$")
#: Lines by which pytest names what failed.
_NAMED = ("FAILED ", "ERROR ")


@dataclass
class Part:
    """One run of pytest with these arguments."""

    name: str
    arguments: tuple[str, ...]
    folder: Path = ROOT / "build"
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    seconds: float = field(init=False, default=0.0)
    #: What it and all that it started and waited for took of the processors.
    processor_seconds: float = field(init=False, default=0.0)
    _said: str = field(init=False, default="collecting")

    @property
    def log(self) -> Path:
        return self.folder / f"test-{self.name}.log"

    @property
    def _progress(self) -> Path:
        return self.log.with_suffix(".progress")

    def run(self) -> int:
        """From its start to its end; pytest's status."""
        begun = time.monotonic()
        self._progress.unlink(missing_ok=True)
        plugins = ("-p", "scripts.test_job.progress", "-p", "scripts.test_job.garbage")
        command = [sys.executable, "-m", "pytest", *plugins, *self.arguments]
        environment = {**os.environ, "TEST_PROGRESS": str(self._progress)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(self.process.pid, 0)  # Popen's own wait does not say what it used
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begun
        self.processor_seconds = used.ru_utime + used.ru_stime
        return self.process.returncode

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    def interrupt(self) -> None:
        """As Ctrl-C would: pytest stops the brokers that it has started."""
        if self.process is not None and self.running:
            self.process.send_signal(signal.SIGINT)

    def how_far(self) -> str:
        """As in ``storage: 120 of 900, 1 failed``."""
        with contextlib.suppress(OSError, ValueError):  # not written yet, or being written: as before
            finished, wanted, failed = self._progress.read_text().split()
            self._said = f"{finished} of {wanted}{f', {failed} failed' if failed != '0' else ''}"
        return f"{self.name}: {self._said}"

    def lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def counts(self) -> Counter[str]:
        """How many tests passed, failed and so on, as pytest's closing line says it; none where it has not come so far."""
        closing = [found["counts"] for line in self.lines()[-5:] if (found := _CLOSING.match(line))]
        words = [part.split(" ", 1) for part in (closing or [""])[-1].split(", ")]
        return Counter({word[1]: int(word[0]) for word in words if word[0].isdecimal()})


def run(parts: Sequence[Part], at_once: int) -> int:
    """Runs them all, the first ones first; shows what they printed, those that failed last, and one closing line for all. The
    status is 0, or that of the first part that has another.
    """
    begun = time.monotonic()
    for part in parts:
        part.folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(part.run): part for part in parts}
        try:
            _follow(running)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for part in parts:
                part.interrupt()
            raise
    statuses = {part.name: future.result() for future, part in running.items()}
    for part in sorted(parts, key=lambda each: statuses[each.name] != 0):
        _show(part)
    print(closing_line(parts, time.monotonic() - begun), flush=True)
    return next((status for status in statuses.values() if status), 0)


def closing_line(parts: Sequence[Part], seconds: float) -> str:
    """What failed, by its name, and the sum of all parts in the form of pytest's own closing line."""
    named = [line for part in parts for line in part.lines() if line.startswith(_NAMED)]
    counts: Counter[str] = sum((part.counts() for part in parts), Counter())
    silent = [f"{part.name} ended without a result" for part in parts if not part.counts()]
    first = [word for word in ("failed", "passed") if word in counts]
    words = [f"{counts[word]} {word}" for word in [*first, *(word for word in counts if word not in first)]]
    minutes = f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"
    closing = f" {', '.join(words)} in {seconds:.2f}s ({minutes}) "
    return "\n".join([*named, *silent, f"{closing:=^80}"])


def _show(part: Part) -> None:
    print(f"\n{part.name} ({part.seconds:.0f} s, {part.processor_seconds:.0f} s of a processor)")
    sys.stdout.flush()
    sys.stdout.buffer.write(part.log.read_bytes())
    sys.stdout.flush()


def _follow(running: dict[Future[int], Part]) -> None:
    """Says how far they are until all have ended, and of each when it has."""
    terminal = sys.stdout.isatty()
    over = "\r\x1b[K" if terminal else ""
    left = set(running)
    shown = time.monotonic()
    while left:
        ended, left = wait(left, TERMINAL_S, return_when=FIRST_COMPLETED)
        for future in ended:
            part = running[future]
            counts = ", ".join(f"{count} {word}" for word, count in part.counts().items())
            took = f"{part.seconds:.0f} s, {part.processor_seconds:.0f} s of a processor"
            print(f"{over}{part.name}: {counts or 'no result'} in {took}", flush=True)
        if time.monotonic() >= shown + (TERMINAL_S if terminal else ELSEWHERE_S):
            shown = time.monotonic()
            line = "; ".join(part.how_far() for part in running.values() if part.running)
            print(over + line, end="" if terminal else "\n", flush=True)
