from __future__ import annotations

import pytest

from pykbroker.cli.output import counted, harmless


@pytest.mark.parametrize(("number", "said"), [(0, "0 records"), (1, "1 record"), (2, "2 records")])
def test_counts_agree_in_number(number: int, said: str) -> None:
    assert counted(number, "record") == said


def test_batches_are_no_batchs() -> None:
    assert (counted(1, "batch"), counted(2, "batch")) == ("1 batch", "2 batches")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"plain \xc3\xa6", "plain æ"),
        (b"\x1b[31m\x00\xff", "\\x1b[31m\\x00\\xff"),
        (b"x" * 81, "x" * 80 + "..."),
    ],
)
def test_bytes_shown_do_nothing_to_a_terminal(data: bytes, shown: str) -> None:
    assert harmless(data) == shown
