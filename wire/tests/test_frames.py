"""Outgoing frames: sizes, and large records left where they are."""

from __future__ import annotations

import pytest

from pykbroker.wire import frames
from pykbroker.wire.errors import WireError
from pykbroker.wire.frames import CUT_SIZE, FrameWriter
from pykbroker.wire.headers import begin_response, decode_response_header
from pykbroker.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from pykbroker.wire.primitives import Records

SMALL = b"s" * CUT_SIZE
LARGE = b"L" * (CUT_SIZE + 1)
OTHER = b"O" * (CUT_SIZE + 2)


def response(*records: Records | None) -> FetchResponse:
    partitions = [PartitionData(index, records=each) for index, each in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=bytes(16), partitions=partitions)])


def joined(pieces: list) -> bytes:
    return b"".join(bytes(piece) for piece in pieces)


def test_a_frame_begins_with_its_size_and_header() -> None:
    frame = begin_response(1, 17, 99)
    response(SMALL).encode(frame, 17)
    pieces = frame.finish()
    assert len(pieces) == 1
    data = joined(pieces)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    correlation_id, pos = decode_response_header(data, 4, 1, 17)
    assert correlation_id == 99
    assert FetchResponse.decode(data, pos, 17)[0] == response(SMALL)


@pytest.mark.parametrize(
    "records",
    [
        [LARGE],
        [LARGE, OTHER],
        [SMALL, LARGE, None, OTHER, b""],
        [[SMALL, LARGE, OTHER]],
        [[LARGE, b"", OTHER], SMALL],
        [[]],
    ],
)
def test_large_records_are_pieces_of_their_own(records: list[Records | None]) -> None:
    plain = bytearray()
    response(*records).encode(plain, 17)
    frame = FrameWriter()
    response(*records).encode(frame, 17)
    pieces = frame.finish()
    assert joined(pieces) == len(plain).to_bytes(4, "big") + plain
    whole = [each for one in records if one for each in (one if isinstance(one, list) else [one])]
    if any(len(each) > CUT_SIZE for each in whole):
        assert any(piece is LARGE or piece is OTHER for piece in pieces)
    assert all(len(piece) for piece in pieces)


def test_a_frame_larger_than_its_size_field_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME", 10)
    assert FrameWriter(bytes(14)).finish()
    with pytest.raises(WireError, match="a frame of 11 bytes"):
        FrameWriter(bytes(15)).finish()


def test_api_versions_is_always_answered_with_header_version_0() -> None:
    for version in range(5):
        assert begin_response(18, version, 7) == b"\0\0\0\0\0\0\0\7"
    assert begin_response(3, 8, 7) == b"\0\0\0\0\0\0\0\7"
    assert begin_response(3, 9, 7) == b"\0\0\0\0\0\0\0\7\0"
