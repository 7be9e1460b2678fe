"""Bytes as text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.cli.binary_text import Encoding, decode, encode

ENCODINGS = [Encoding.HEX, Encoding.BASE64]


@given(st.none() | st.binary(), st.sampled_from(ENCODINGS))
def test_what_was_written_is_read(data: bytes | None, encoding: Encoding) -> None:
    text = encode(data, encoding)
    assert b"\n" not in text
    assert b"\t" not in text
    assert decode(text, encoding) == data


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (b"abc", Encoding.HEX),
        (b"xy", Encoding.HEX),
        (b"\xff", Encoding.HEX),
        (b"a", Encoding.BASE64),
        (b"a%==", Encoding.BASE64),
    ],
)
def test_what_is_not_of_the_encoding(text: bytes, encoding: Encoding) -> None:
    with pytest.raises(ValueError, match=f"not {encoding}"):
        decode(text, encoding)
