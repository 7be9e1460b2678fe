"""Counts a broker's instructions while one client sends one request after the other.

It runs under valgrind's callgrind, which counts and dumps on command (vgdb), so that start-up and preparation are left
out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from scripts.bench_job.counted_loads import Ask, Load

#: Requests after which modules are imported and the interpreter has specialised its code,
_WARM_UP: Final = 100
#: and requests per batch; the least of some batches counts, in which the broker had no other work.
_IN_A_BATCH: Final = 40
_BATCHES: Final = 6
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
    """A broker that runs deterministically; ``checkout`` is where its code is, by default here."""

    start_limit_s = _PATIENCE_S

    def __init__(self, folder: Path, settings: Mapping[str, str], checkout: Path | None = None) -> None:
        super().__init__(folder, {"group.initial.rebalance.delay.ms": "0", **settings})
        if checkout is not None:
            self.working_directory = checkout.resolve()

    def command(self) -> list[str]:
        written = f"--callgrind-out-file={self.folder / 'callgrind.out'}"
        return ["valgrind", "--tool=callgrind", written, *super().command()]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.working_directory)}

    def count(self, load: Load) -> float:
        """Return the instructions of one request of a load, which is prepared first."""
        connection = Connection(self.bootstrap, patience_s=_PATIENCE_S)
        try:
            ask = load.prepare(connection)
            for _ in range(_WARM_UP):
                ask()
            self._until_idle()
            return min(self._counted(ask) for _ in range(_BATCHES)) / _IN_A_BATCH
        finally:
            connection.close()

    def _counted(self, ask: Ask) -> int:
        self._tell("zero")
        for _ in range(_IN_A_BATCH):
            ask()
        return self._written()

    def _until_idle(self) -> None:
        """Wait until background work of the preparation is done, such as opening a topic's fifty partitions."""
        before = -1.0
        while (now := self.cpu_seconds()) - before > _IDLE_CPU_S:
            before = now
            time.sleep(_LOOK_S)

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
