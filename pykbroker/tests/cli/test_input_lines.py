from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from itertools import chain

import pytest

from pykbroker.cli.input_lines import line_groups


def _groups(chunks: Iterable[bytes], **limits: int) -> list[list[bytes]]:
    read_end, write_end = os.pipe()

    def write() -> None:
        for chunk in chunks:
            os.write(write_end, chunk)
        os.close(write_end)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return list(line_groups(read_end, **limits))
    finally:
        writer.join()
        os.close(read_end)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\nb\r\n\nc", [b"a", b"b", b"", b"c"]),
        (b"\n", [b""]),
    ],
)
def test_lines(data: bytes, lines: list[bytes]) -> None:
    assert list(chain.from_iterable(_groups([data]))) == lines


def test_a_line_may_come_in_pieces() -> None:
    assert list(chain.from_iterable(_groups([b"he", b"llo\nwor", b"ld\n"]))) == [b"hello", b"world"]


def test_groups_are_limited() -> None:
    data = b"".join(b"%d\n" % n for n in range(10))
    groups = _groups([data], max_lines=4)
    assert [len(group) for group in groups] == [4, 4, 2]
    assert all(sum(map(len, group)) <= 6 for group in _groups([b"12345\n" * 5], max_bytes=5))


def test_a_line_is_there_before_the_input_ends() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"first\nsec")
    groups = line_groups(read_end)
    assert next(groups) == [b"first"]
    os.write(write_end, b"ond\n")
    assert next(groups) == [b"second"]
    os.close(write_end)
    assert list(groups) == []
    os.close(read_end)
