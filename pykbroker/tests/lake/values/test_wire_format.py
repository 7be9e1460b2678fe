from __future__ import annotations

import pytest

from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.wire_format import Frame, unframed, unframed_message


def test_the_schemas_number_stands_before_the_value() -> None:
    assert unframed(b"\0\0\0\1\2rest") == (Frame(258), b"rest")
    assert unframed(b"\0\0\0\0\1") == (Frame(1), b"")


@pytest.mark.parametrize("value", [b"", b"\0\0\0\0", b"{}{}{}"])
def test_a_value_without_a_frame_is_refused(value: bytes) -> None:
    with pytest.raises(ConversionError, match="does not begin with a zero byte"):
        unframed(value)


def test_protobufs_has_the_path_of_the_message() -> None:
    frame = b"\0\0\0\0\7"
    assert unframed_message(frame + b"\0rest") == (Frame(7, (0,)), b"rest")
    assert unframed_message(frame + b"\4\2\x80\2rest") == (Frame(7, (1, 128)), b"rest")
    for path in (b"", b"\2", b"\x80\x80\x80\x80\x80\1", b"\1", b"\2\1"):
        with pytest.raises(ConversionError, match="the path of the message"):
            unframed_message(frame + path)
