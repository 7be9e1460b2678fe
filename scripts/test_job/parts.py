"""The tests in parts, each a pytest run, several at a time.

The output of each is in build/test-NAME.log, and is printed when all have ended.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from scripts.jars import ROOT

#: Seconds between lines of progress: on a terminal, where the line is rewritten, and elsewhere.
TERMINAL_S, ELSEWHERE_S = 1.0, 60.0
#: Seconds without the end of a test after which a part is interrupted, since CI ends a whole run without saying what hung; and those
#: that it then has to stop its brokers. The longest test of a run takes three minutes, those of long runs up to an hour.
STALLED_S = 4 * 3600.0 if os.environ.get("PYKBROKER_LONG") else 900.0
ENDING_S = 60.0
#: The last line of a pytest run, as in ``== 1 failed, 4 passed in 2.50s ==``.
_CLOSING = re.compile(r"^(?:=+ )?(?P<counts>\d+ .*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$")
#: What pytest's words mean in a closing line of ours.
_SAID = {"deselected": "left out (for whole runs)"}
#: Lines in which pytest names failures.
_NAMED = ("FAILED ", "ERROR ")


@dataclass
class Part:
    """One pytest run with these arguments."""

    name: str
    arguments: tuple[str, ...]
    #: The interpreter, whose environment the run has.
    python: str = sys.executable
    folder: Path = ROOT / "build"
    #: How nice it is, and all that it starts, to the others.
    nice: int = 0
    #: Variables that it has beside those of this process.
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    seconds: float = field(init=False, default=0.0)
    #: Processor seconds of the run and of its descendants that it waited for.
    processor_seconds: float = field(init=False, default=0.0)
    stalled: str = field(init=False, default="")
    _said: str = field(init=False, default="collecting")
    _seen: str = field(init=False, default="")
    _moved: float = field(init=False, default_factory=time.monotonic)

    @property
    def log(self) -> Path:
        return self.folder / f"test-{self.name}.log"

    @property
    def _progress(self) -> Path:
        return self.log.with_suffix(".progress")

    def run(self) -> int:
        """Run to the end; returns pytest's exit status."""
        begun = self._moved = time.monotonic()
        self._progress.unlink(missing_ok=True)
        plugins = (
            "-p",
            "scripts.test_job.progress",
            "-p",
            "scripts.test_job.garbage",
            "-p",
            "scripts.test_job.unclosed",
        )
        stacks = ("-o", f"faulthandler_timeout={STALLED_S * 0.9}")  # are in the log before it is interrupted
        command = ["nice", "-n", str(self.nice), self.python, "-m", "pytest", *plugins, *stacks, *self.arguments]
        path = os.pathsep.join((str(Path(self.python).parent), os.environ["PATH"]))
        environment = {**os.environ, **self.environment, "PATH": path, "TEST_PROGRESS": str(self._progress)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(self.process.pid, 0)  # Popen's own wait does not return resource usage
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begun
        self.processor_seconds = used.ru_utime + used.ru_stime
        return self.process.returncode

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    def interrupt(self) -> None:
        """Interrupt as Ctrl-C would: pytest then stops the brokers that it has started."""
        self._signal(signal.SIGINT)

    def watch(self) -> None:
        """Interrupt a run in which no test has started or ended for STALLED_S, and abort it where that does not end it."""
        with contextlib.suppress(OSError):  # nothing was written yet
            if (seen := self._progress.read_text()) != self._seen:
                self._seen, self._moved = seen, time.monotonic()
        stood = time.monotonic() - self._moved
        if self.running and stood > STALLED_S and not self.stalled:
            test = self._seen.partition("\n")[2].strip() or "before its first test"
            self.stalled = f"{self.name} stalled and was interrupted: {test}"
            self.interrupt()
        elif stood > STALLED_S + ENDING_S:
            self._signal(signal.SIGABRT)  # faulthandler writes what all threads wait for

    def _signal(self, number: signal.Signals) -> None:
        """Popen's own would first look whether the process has ended, and take its end from ``run``."""
        if self.process is not None and self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def progress(self) -> str:
        """Return progress as in ``storage: 120 of 900, 1 failed``."""
        with contextlib.suppress(OSError, ValueError):  # missing or incomplete file: as before
            finished, wanted, failed = self._progress.read_text().partition("\n")[0].split()
            self._said = f"{finished} of {wanted}{f', {failed} failed' if failed != '0' else ''}"
        return f"{self.name}: {self._said}"

    def lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()

    def counts(self) -> Counter[str]:
        """Return the numbers of tests that passed, failed and so on, from pytest's closing line; none without it."""
        closing = [found["counts"] for line in self.lines()[-5:] if (found := _CLOSING.match(line))]
        words = [part.split(" ", 1) for part in (closing or [""])[-1].split(", ")]
        return Counter({word[1]: int(word[0]) for word in words if word[0].isdecimal()})


def run(parts: Sequence[Part], at_once: int) -> int:
    """Run all parts, the first ones first; prints their output, failures last, and one closing line.

    The status is 0, or that of the first part with another, or 1 where a part stalled.
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
    return next((status for status in statuses.values() if status), int(any(part.stalled for part in parts)))


def closing_line(parts: Sequence[Part], seconds: float) -> str:
    """Return the names of failures, and the sum of all parts in the form of pytest's own closing line."""
    named = [line for part in parts for line in part.lines() if line.startswith(_NAMED)]
    counts: Counter[str] = sum((part.counts() for part in parts), Counter())
    silent = [f"{part.name} ended without a result" for part in parts if not part.counts()]
    silent += [part.stalled for part in parts if part.stalled]
    first = [word for word in ("failed", "passed") if word in counts]
    words = [
        f"{counts[word]} {_SAID.get(word, word)}" for word in [*first, *(word for word in counts if word not in first)]
    ]
    minutes = f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"
    closing = f" {', '.join(words)} in {seconds:.2f}s ({minutes}) "
    return "\n".join([*named, *silent, f"{closing:=^80}"])


def _show(part: Part) -> None:
    print(f"\n{part.name} ({part.seconds:.0f} s, {part.processor_seconds:.0f} s of a processor)")
    sys.stdout.flush()
    written = part.log.read_bytes()
    sys.stdout.buffer.write(
        written if written.endswith(b"\n") else written + b"\n"
    )  # a part that was killed ends within a line
    sys.stdout.flush()


def _follow(running: dict[Future[int], Part]) -> None:
    """Print progress until all parts have ended, and each part's end."""
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
        for part in running.values():
            part.watch()
        if time.monotonic() >= shown + (TERMINAL_S if terminal else ELSEWHERE_S):
            shown = time.monotonic()
            line = "; ".join(part.progress() for part in running.values() if part.running)
            print(over + line, end="" if terminal else "\n", flush=True)
