"""Bytes that are not what they say: always a WireError, at once, and never a large allocation."""

from __future__ import annotations

import random
import tracemalloc
from functools import cache

import pytest

from pykbroker.tests.kit.depth import of_depths
from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import WireError
from pykbroker.wire.headers import decode_request_header, decode_response_header
from pykbroker.wire.messages.create_topics import CreateTopicsRequest
from pykbroker.wire.messages.fetch import FetchRequest, FetchResponse
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.offset_commit import OffsetCommitRequest
from pykbroker.wire.messages.produce import ProduceRequest
from pykbroker.wire.tests.kafka_messages import all_versions, build, encoded, message_class

HOSTILE = [
    b"\x00",
    b"\xff",
    b"\x80",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff",
    b"\x80\x00",
]
MAX_BYTES = 400


@cache
def samples() -> list[tuple[str, int, bytes]]:
    """A message with content for every (message, version), each of a size that can be tried byte by byte; in a quick run for every eighth."""
    source = random.Random(7)
    result = []
    for name, version in list(all_versions())[:: of_depths(8, 1, 1)]:
        tries = sorted((encoded(build(name, version, source), version) for _ in range(8)), key=len)
        fitting = [data for data in tries if len(data) <= MAX_BYTES]
        result.append((name, version, fitting[-1] if fitting else tries[0]))
    return result


def outcome(name: str, version: int, data: bytes) -> str:
    """``read``, ``left over`` or ``refused``; any exception but WireError fails the test."""
    try:
        _, pos = message_class(name).decode(data, 0, version)
    except WireError:
        return "refused"
    return "read" if pos == len(data) else "left over"


def test_every_truncation_is_refused() -> None:
    for name, version, data in samples():
        assert outcome(name, version, data) == "read"
        for size in range(len(data)):
            assert outcome(name, version, data[:size]) == "refused", (name, version, size)


def test_hostile_bytes_anywhere_are_read_or_refused() -> None:
    seen = set()
    for name, version, data in samples():
        step = max(1, len(data) // 60)
        for at in range(0, len(data), step):
            for hostile in HOSTILE:
                seen.add(outcome(name, version, data[:at] + hostile + data[at + len(hostile) :]))
    assert seen == {"read", "left over", "refused"}


@pytest.mark.parametrize(
    ("cls", "version"),
    [
        (ProduceRequest, 3),
        (ProduceRequest, 9),
        (ProduceRequest, 13),
        (FetchRequest, 4),
        (FetchRequest, 17),
        (FetchResponse, 4),
        (FetchResponse, 17),
        (MetadataRequest, 1),
        (MetadataRequest, 12),
        (CreateTopicsRequest, 2),
        (CreateTopicsRequest, 7),
        (OffsetCommitRequest, 2),
        (OffsetCommitRequest, 9),
    ],
)
@pytest.mark.deep(but=3)
def test_hostile_lengths_allocate_nothing(cls: type, version: int) -> None:
    data = encoded(build(cls.__name__, version, random.Random(11)), version)
    tracemalloc.start()
    try:
        for at in range(0, len(data), of_depths(3, 1, 1)):
            for hostile in HOSTILE:
                outcome(cls.__name__, version, data[:at] + hostile + data[at + len(hostile) :])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * len(data) + 2**20


#: Bytes of memory for each byte of a request; 32 is the most that is seen: a list of names without a letter.
_MOST_MEMORY = 48
#: An array of so many elements, in both forms of a length, and the zeros that follow it: elements of two bytes to six.
_COUNTS, _ZEROS = (b"\xd1\x0f", b"\x00\x00\x07\xd0"), (4000, 12_000)
_PLACES = 12


@pytest.mark.deep
def test_a_request_takes_a_small_multiple_of_its_bytes() -> None:
    """An array of the smallest elements, at any place of any request."""
    source = random.Random(17)
    requests: dict[str, list[int]] = {}
    for name, version in all_versions():
        if name.endswith("Request"):
            requests.setdefault(name, []).append(version)
    assert len(requests) > 80
    read = 0
    for name, versions in requests.items():
        for version in {versions[0], versions[-1]}:
            data = encoded(build(name, version, source), version)
            for at in source.sample(range(len(data)), min(len(data), _PLACES)):
                for count in _COUNTS:
                    for zeros in _ZEROS:
                        hostile = data[:at] + count + bytes(zeros)
                        tracemalloc.start()
                        try:
                            read += outcome(name, version, hostile) != "refused"
                            _, peak = tracemalloc.get_traced_memory()
                        finally:
                            tracemalloc.stop()
                        assert peak <= _MOST_MEMORY * len(hostile), (name, version, at, peak / len(hostile))
    assert read > 1000


def test_random_bytes_are_read_or_refused() -> None:
    source = random.Random(13)
    seen = set()
    for name, version in all_versions():
        for size in (0, 1, 3, 17, 60, 200):
            seen.add(outcome(name, version, source.randbytes(size)))
            seen.add(outcome(name, version, bytes(source.choices(range(4), k=size))))
    assert seen == {"read", "left over", "refused"}


@pytest.mark.parametrize("name", ["ProduceRequest", "MetadataResponse", "TopicRecord", "OffsetCommitValue"])
def test_unknown_versions_are_refused(name: str) -> None:
    cls = message_class(name)
    for version in (cls.VERSIONS[0] - 1, cls.VERSIONS[1] + 1, -1, 32767):
        with pytest.raises(WireError, match=f"{name} has no version {version}"):
            cls.decode(bytes(50), 0, version)
        with pytest.raises(WireError, match=f"{name} has no version {version}"):
            cls().encode(bytearray(), version)


def test_strings_that_are_not_utf8_are_read_as_java_reads_them() -> None:
    """With the replacement character for what means nothing, as Apache Kafka does: no reason to end a connection."""
    request, _ = MetadataRequest.decode(b"\0\0\0\1\0\3a\xff\xfe", 0, 1)
    assert [topic.name for topic in request.topics] == ["a\ufffd\ufffd"]
    compact, _ = MetadataRequest.decode(b"\2\4a\xff\xfe\0\1\0\0\0", 0, 9)
    assert [topic.name for topic in compact.topics] == ["a\ufffd\ufffd"]


def test_headers_cut_short_or_of_unknown_apis_are_refused() -> None:
    for api in APIS.values():
        header = api.key.to_bytes(2, "big") + api.max_version.to_bytes(2, "big") + b"\0\0\0\7\0\2me"
        header += b"\1\5\3abc" if api.request_header_version(api.max_version) == 2 else b""
        decoded, pos = decode_request_header(header, 0)
        assert (decoded.client_id, pos) == ("me", len(header))
        for size in range(len(header)):
            with pytest.raises(WireError):
                decode_request_header(header[:size], 0)
    with pytest.raises(WireError, match="unknown API key 4711"):
        decode_request_header((4711).to_bytes(2, "big") + bytes(20), 0)
    for size in range(5):
        with pytest.raises(WireError):
            decode_response_header(bytes(size), 0, 3, 12)
