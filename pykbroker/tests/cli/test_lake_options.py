from __future__ import annotations

import pytest

from pykbroker.cli.lake_options import Teller
from pykbroker.cli.output import Output
from pykbroker.runtime.clock import ManualClock


class Shown:
    def __init__(self, line: str) -> None:
        self._line = line

    def line(self) -> str:
        return self._line


def test_progress_that_has_not_changed_is_no_new_line(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    with Teller(Output(as_json=False), clock) as teller:
        for line in ("0 rows", "0 rows", "0 rows", "5 rows"):
            clock.advance(10_000)
            teller.tell(Shown(line))
        teller.tell(Shown("6 rows"))  # too early
    assert capsys.readouterr().err.split("\n") == ["0 rows", "5 rows", ""]
