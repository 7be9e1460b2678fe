from __future__ import annotations

import pytest

from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.deserializers import reading


def test_a_schema_that_is_unknown_is_told_of_each_value_anew() -> None:
    """One error for all of them would grow by a traceback with each."""
    read = reading(DecodeOptions(ValueFormat.AVRO), {})
    for _ in range(10):
        with pytest.raises(ConversionError, match="the registry has no schema 7") as refused:
            read(b"\0\0\0\0\7value")
    assert len(refused.traceback) < 10


def test_frames_that_bytes_only_look_like_are_forgotten() -> None:
    read = reading(DecodeOptions(ValueFormat.AVRO), {})
    for number in range(2500):
        with pytest.raises(ConversionError, match=f"the registry has no schema {number}$"):
            read(b"\0" + number.to_bytes(4, "big"))
    assert len(read._known) <= 1000  # type: ignore[attr-defined]
