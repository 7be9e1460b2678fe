"""pykbroker's own commands against the broker under test: each must also work with Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import pytest

from pykbroker.cli.app import main


@dataclass
class Result:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.status == 0, self.err
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        assert self.status == 0, self.err
        return self.out.splitlines()


@pytest.fixture
def run(bootstrap: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``run("topics", "list", stdin=b"...")`` in this process, against the broker under test."""
    monkeypatch.setenv("PYKBROKER_BOOTSTRAP", bootstrap)

    def run_command(*arguments: str, stdin: bytes = b"") -> Result:
        with TemporaryFile("w+") as standard_input:  # a pipe holds only so much
            standard_input.buffer.write(stdin)
            standard_input.seek(0)
            monkeypatch.setattr("sys.stdin", standard_input)
            capfd.readouterr()
            status = main(list(arguments))
        printed = capfd.readouterr()
        return Result(status, printed.out, printed.err)

    return run_command


@pytest.fixture
def topic(run: Callable[..., Result], name: Callable[..., str]) -> str:
    """A topic with three partitions."""
    made = name("topic")
    assert run("topics", "create", made, "-p", "3").status == 0
    return made
