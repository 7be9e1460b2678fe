"""Running commands in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from pykbroker.cli.app import main
from pykbroker.testing import Kafka


@dataclass
class Result:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a broker is that all tests of a module share."""
    with Kafka() as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """``run("topics", "list", stdin=b"...")``."""

    def run_command(*arguments: str, stdin: bytes = b"") -> Result:
        read_end, write_end = os.pipe()
        os.write(write_end, stdin)
        os.close(write_end)
        with os.fdopen(read_end) as standard_input:
            monkeypatch.setattr("sys.stdin", standard_input)
            status = main(list(arguments))
        printed = capfd.readouterr()
        return Result(status, printed.out, printed.err)

    return run_command
