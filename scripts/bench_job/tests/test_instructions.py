"""The table of instructions."""

from __future__ import annotations

import sys

from scripts.bench_job.instructions import Row, interpreter, markdown


def test_the_table_names_the_interpreter() -> None:
    alone = markdown([Row("Heartbeat", 71_342.0, None)])
    assert "| Heartbeat | 71,342 |" in alone
    assert alone.endswith(interpreter())
    beside = markdown([Row("Heartbeat", 50.0, 100.0)])
    assert "| Heartbeat | 100 | 50 | 0.500 |" in beside
    assert beside.endswith(interpreter())
    assert "{}.{}.{}".format(*sys.version_info) in interpreter()
    assert "PGO" in interpreter()
