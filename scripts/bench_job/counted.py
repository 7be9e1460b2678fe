"""A broker whose instructions are counted while one client sends it one request after the other.

valgrind's callgrind counts, and writes down what it counted when it is told to (by vgdb): so the start of the broker, and what each
load prepares, are left out.
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

#: Modules are imported and the interpreter has specialised its code after so many,
_WARM_UP: Final = 100
#: and so many are counted together; of some such batches the least counts, in which the broker had nothing else to do.
_IN_A_BATCH: Final = 40
_BATCHES: Final = 6
_TOTALS: Final = re.compile(r"^totals: (\d+)$", re.MULTILINE)
_PATIENCE_S: Final = 600.0
#: A broker with nothing to do needs less than this between two looks.
_IDLE_CPU_S: Final = 0.03
_LOOK_S: Final = 1.0


class ValgrindMissing(RuntimeError):
    """It is not installed."""


def check_valgrind() -> None:
    """Raises ValgrindMissing."""
    if shutil.which("valgrind") is None:
        raise ValgrindMissing("valgrind counts the instructions; install it (on Debian: apt-get install valgrind)")


class Counted(Pykbroker):
    """One that does the same in the same order each time; ``checkout`` is where its code lies, if not here."""

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
        """Instructions of one request of a load, which is prepared for."""
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
        """What the preparation began is over, a topic's fifty partitions that are opened, say."""
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
