"""Running commands in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from pykbroker.cli.app import main


@dataclass
class Result:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str


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
