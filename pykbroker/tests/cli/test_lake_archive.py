"""What ``lake archive`` and ``lake compact`` refuse before Spark is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.lake.alone import alone
from pykbroker.lake.description import FILE, Description, Format
from pykbroker.testing import Kafka
from pykbroker.tests.cli.conftest import Result


@pytest.mark.parametrize("command", ["archive", "compact"])
def test_two_at_once(run: Callable[..., Result], tmp_path: Path, command: str) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    with Kafka() as kafka, alone(str(tmp_path), command):
        options = ["--topics", "t", "--to", str(tmp_path), "-b", kafka.bootstrap_servers]
        result = run("lake", command, *(options if command == "archive" else [str(tmp_path)]))
    assert result.status == 1
    assert f"({command}); wait until it has ended, or stop it." in " ".join(result.err.split())
