"""Counts what a broker does while one client sends one request after the other: instructions, or calls and system calls.

For instructions it runs under valgrind's callgrind, which counts and dumps on command (vgdb), so that start-up and preparation are left
out; for the others with a profile function, and under strace where that is installed.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from scripts.bench_job import called
from scripts.bench_job.counted_loads import Ask, Load

#: Requests after which modules are imported and the interpreter has specialised its code,
_WARM_UP: Final = 100
#: and requests per batch; the least of some batches counts, in which the broker had no other work.
_IN_A_BATCH: Final = 40
_BATCHES: Final = 6
SYSTEM_CALLS: Final = "system calls"
_TOTALS: Final = re.compile(r"^totals: (\d+)$", re.MULTILINE)
_PATIENCE_S: Final = 600.0
#: Most CPU seconds of an idle broker between two polls.
_IDLE_CPU_S: Final = 0.03
_LOOK_S: Final = 1.0


class ValgrindMissing(RuntimeError):
    """valgrind is not installed."""


def check_valgrind() -> None:
    """Raises ValgrindMissing if valgrind is not installed."""
    if shutil.which("valgrind") is None:
        raise ValgrindMissing("valgrind counts the instructions; install it (on Debian: apt-get install valgrind)")


class Counted(Pykbroker):
    """A broker that runs deterministically, and is asked how often it did something; ``checkout`` is where its code is, by default here."""

    start_limit_s = _PATIENCE_S
    #: What is counted.
    columns: tuple[str, ...]

    def __init__(self, folder: Path, settings: Mapping[str, str], checkout: Path | None = None) -> None:
        super().__init__(folder, {"group.initial.rebalance.delay.ms": "0", **settings})
        if checkout is not None:
            self.working_directory = checkout.resolve()

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.working_directory)}

    def count(self, load: Load) -> tuple[float, ...]:
        """Return what one request of a load takes, by column; the load is prepared first."""
        connection = Connection(self.bootstrap, patience_s=_PATIENCE_S)
        try:
            ask = load.prepare(connection)
            for _ in range(_WARM_UP):
                ask()
            self._until_idle()
            batches = [self._counted(ask) for _ in range(_BATCHES)]
            return tuple(min(column) / _IN_A_BATCH for column in zip(*batches, strict=True))
        finally:
            connection.close()

    @abstractmethod
    def _counted(self, ask: Ask) -> tuple[int, ...]:
        """What a batch of requests takes."""

    def _until_idle(self) -> None:
        """Wait until background work of the preparation is done, such as opening a topic's fifty partitions."""
        before = -1.0
        while (now := self.cpu_seconds()) - before > _IDLE_CPU_S:
            before = now
            time.sleep(_LOOK_S)


class Instructions(Counted):
    """Under callgrind."""

    columns = ("instructions",)

    def command(self) -> list[str]:
        written = f"--callgrind-out-file={self.folder / 'callgrind.out'}"
        return ["valgrind", "--tool=callgrind", written, *super().command()]

    def _counted(self, ask: Ask) -> tuple[int, ...]:
        self._tell("zero")
        for _ in range(_IN_A_BATCH):
            ask()
        return (self._written(),)

    def _written(self) -> int:
        for old in self.folder.glob("callgrind.out.*"):
            old.unlink()
        self._tell("dump")
        (written,) = self.folder.glob("callgrind.out.*")
        found = _TOTALS.search(written.read_text())
        assert found is not None, self.log_tail()
        return int(found[1])

    def _tell(self, command: str) -> None:
        subprocess.run(
            ["vgdb", f"--pid={self.pid}", command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )


class Calls(Counted):
    """Its functions are counted by ``called.py``, and system calls of all threads by strace, which writes a line for each."""

    columns = ("Python calls", SYSTEM_CALLS) if shutil.which("strace") else ("Python calls",)

    def command(self) -> list[str]:
        self._numbers.write_bytes(bytes(called.SIZE))
        command = [sys.executable, called.__file__, str(self._numbers), *super().command()[3:]]
        # strace is a grandchild, so that the process that is started is the broker
        return [*(("strace", "-D", "-f", "-qq", "-o", str(self._trace)) if len(self.columns) > 1 else ()), *command]

    def _counted(self, ask: Ask) -> tuple[int, ...]:
        before = self._so_far()
        for _ in range(_IN_A_BATCH):
            ask()
        return tuple(now - then for now, then in zip(self._so_far(), before, strict=True))

    def _so_far(self) -> list[int]:
        so_far = [struct.unpack_from("Q", self._numbers.read_bytes())[0]]
        if len(self.columns) > 1:
            # the second line of a call that was interrupted by another thread's is none of its own
            so_far.append(sum(" resumed>" not in line for line in self._trace.read_text(errors="replace").splitlines()))
        return so_far

    @property
    def _numbers(self) -> Path:
        return self.folder / "calls"

    @property
    def _trace(self) -> Path:
        return self.folder / "trace"
