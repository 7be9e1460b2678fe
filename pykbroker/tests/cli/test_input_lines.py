from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.cli.input_lines import line_groups
from pykbroker.client.errors import ClientError


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


@given(
    lines=st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=9),
    cuts=st.lists(st.integers(1, 5), max_size=40),
)
def test_pieces_of_any_size_make_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    chunks = []
    for size in cuts:
        chunks.append(data[:size])
        data = data[size:]
    assert list(chain.from_iterable(_groups(filter(None, [*chunks, data])))) == lines


def test_a_line_without_end_is_refused_after_those_before_it() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"one\n" + b"x" * 200)
    groups = line_groups(read_end, longest=100)
    assert next(groups) == [b"one"]
    with pytest.raises(ClientError, match="A line is longer than 100 bytes"):
        next(groups)
    os.close(write_end)
    os.close(read_end)


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
