"""What a leader refuses, and what it changes before it appends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.rejections import RecordsRejected
from pykbroker.storage.log.validate import Origin, _is_one_record, holds_one_record, validate_batch
from pykbroker.tests.storage.support import START_MS, batch
from pykbroker.wire.batch_header import TimestampType, batch_crc_ok, read_batch_header, write_crc
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record, decode_records, encode_batch

PLAIN = LogConfig()
HOUR = 3600 * 1000


def check(data, config=PLAIN, origin=Origin.CLIENT, now_ms=START_MS):
    return validate_batch(data, config, origin, now_ms)


def refused(data, config=PLAIN, origin=Origin.CLIENT, now_ms=START_MS):
    with pytest.raises(KafkaError) as caught:
        check(data, config, origin, now_ms)
    return caught.value


def with_header(data: bytearray, position: int, value: bytes) -> bytearray:
    """The batch with some header bytes replaced and the checksum made right."""
    data[position : position + len(value)] = value
    write_crc(data, 0, len(data))
    return data


def test_a_plain_batch_is_taken_as_it_is():
    data = batch([b"a", b"b"])
    header, same = check(data)
    assert same is data
    assert header.record_count == 2


@pytest.mark.parametrize("data", [b"", bytes(16), batch([b"a"])[:60], batch([b"a"])[:-1]])
def test_no_whole_batch(data):
    assert refused(data).code in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)


def test_two_batches():
    assert refused(batch([b"a"]) + batch([b"b"])).code is ErrorCode.INVALID_RECORD


def test_old_magic():
    data = batch([b"a"])
    data[16] = 1
    assert refused(data).code is ErrorCode.INVALID_RECORD


def test_a_client_numbers_from_zero():
    data = bytearray(encode_batch([Record(offset=5, timestamp=START_MS, value=b"a")], base_offset=5))
    assert refused(data).code is ErrorCode.INVALID_RECORD


def test_checksum():
    data = batch([b"abc"])
    data[-1] ^= 1
    assert refused(data).code is ErrorCode.CORRUPT_MESSAGE


def test_too_large_comes_before_the_checksum():
    data = batch([b"x" * 100])
    data[-1] ^= 1
    error = refused(data, LogConfig(max_message_bytes=len(data) - 1))
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert check(batch([b"x" * 100]), LogConfig(max_message_bytes=len(data)))


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (57, (3).to_bytes(4, "big")),  # more records than offsets
        (57, (0).to_bytes(4, "big")),
        (23, (-1).to_bytes(4, "big", signed=True)),
        (21, (0x20).to_bytes(2, "big")),  # a control batch
    ],
)
def test_headers_that_contradict_themselves(position, value):
    assert refused(with_header(batch([b"a", b"b"]), position, value)).code is ErrorCode.INVALID_RECORD


def test_a_producer_id_needs_a_sequence():
    assert refused(batch([b"a"], producer=(5, 0, -1))).code is ErrorCode.INVALID_RECORD


def test_coordinators_write_without_sequences():
    check(batch([b"a"], producer=(5, 0, -1)), origin=Origin.COORDINATOR)


def test_an_unknown_codec():
    data = with_header(batch([b"a"]), 21, (7).to_bytes(2, "big"))
    assert refused(data).code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_timestamps_too_far_ahead():
    data = batch([b"a", b"b"], timestamp=START_MS + HOUR)
    error = refused(data)
    assert isinstance(error, RecordsRejected)
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in error.record_errors] == [1]
    check(batch([b"a"], timestamp=START_MS + HOUR))


def test_timestamps_too_old():
    config = LogConfig(timestamp_before_max_ms=1000)
    error = refused(batch([b"a", b"b"], timestamp=START_MS - 1001), config)
    assert [index for index, _ in error.record_errors] == [0]
    check(batch([b"a"], timestamp=START_MS - 1000), config)


def test_records_without_a_timestamp_pass():
    config = LogConfig(timestamp_before_max_ms=1000)
    data = encode_batch([Record(timestamp=-1, value=b"a")])
    check(bytearray(data), config)


def test_a_producer_must_not_claim_append_time():
    data = encode_batch([Record(timestamp=START_MS, value=b"a")], append_time=START_MS)
    assert refused(data, LogConfig(log_append_time=True)).code is ErrorCode.INVALID_TIMESTAMP
    # Where the producers' timestamps count, Kafka takes it and clears the claim.
    header, _ = check(data)
    assert header.timestamp_type is TimestampType.CREATE_TIME


def test_compacted_logs_need_keys():
    config = LogConfig(compact=True)
    error = refused(batch([b"a", b"b"], keys=[b"k", None]), config)
    assert error.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.record_errors] == [1]
    check(batch([b"a", None], keys=[b"k", b"l"]), config)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_append_time_is_stamped_without_touching_the_records(codec, kind):
    sent = kind(batch([b"a", b"b"], compression=codec))
    header, data = check(sent, LogConfig(log_append_time=True), now_ms=START_MS + 5)
    assert header.max_timestamp == START_MS + 5
    assert batch_crc_ok(data, 0, len(data))
    assert [record.timestamp for record in decode_records(bytes(data))] == [START_MS + 5] * 2
    assert bytes(data)[61:] == bytes(sent)[61:]


@pytest.mark.parametrize("name", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("sent", list(Compression))
def test_the_topic_decides_about_compression(name, sent):
    wanted = Compression.NONE if name == "uncompressed" else Compression[name.upper()]
    config = LogConfig(compression_type=name, compression_gzip_level=1, compression_zstd_level=7)
    values = [b"value %d" % number for number in range(50)]
    data = batch(values, compression=sent, producer=(7, 3, 40), transactional=True)
    header, result = check(data, config)
    assert header.compression is wanted
    assert (result is data) == (sent is wanted)
    assert [record.value for record in decode_records(bytes(result))] == values
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 40)
    assert header.is_transactional
    assert batch_crc_ok(result, 0, len(result))


def test_a_batch_that_grows_too_large_when_it_is_decompressed():
    data = batch([bytes(10_000)], compression=Compression.ZSTD)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=5000)
    assert refused(data, config).code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_wrong_largest_timestamp_is_corrected():
    data = with_header(batch([b"a", b"b"]), 35, (START_MS - 1).to_bytes(8, "big"))
    header, _ = check(data)
    assert header.max_timestamp == START_MS + 1


def test_records_that_do_not_decode():
    data = with_header(batch([b"a" * 20], keys=[b"k"]), 61, b"\x7f")
    assert refused(data, LogConfig(compact=True)).code is ErrorCode.INVALID_RECORD


def test_read_only_bytes_are_not_changed():
    sent = bytes(batch([b"a"]))
    header, data = check(memoryview(sent), LogConfig(log_append_time=True))
    assert sent == bytes(batch([b"a"]))
    assert read_batch_header(data) == header


@pytest.mark.parametrize("size", [1, 100, 5000, 10_000, 3_000_000])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_first_length_of_a_batch_that_is_taken_as_it_is(size, count):
    config = LogConfig(max_message_bytes=100_000_000)
    data = batch([bytes(size)] * count)
    assert check(data, config)[1] is data
    whole = bytes(data)
    for wrong in (b"\x01", b"\x02", b"\xff\xff\xff\xff\x0f", b"\xff" * 6, b"\x00"):
        assert refused(with_header(bytearray(whole), 61, wrong), config).code is ErrorCode.INVALID_RECORD
    for cut in (whole[:61], whole[:62], whole[: 61 + 7 * (count - 1)]):
        short = bytearray(cut)
        short[8:12] = (len(short) - 12).to_bytes(4, "big")
        assert refused(with_header(short, 0, b""), config).code is ErrorCode.INVALID_RECORD


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_no_batch_that_a_client_encodes_is_refused_for_its_first_length(values):
    check(batch(values))


@pytest.mark.parametrize("around", [68, 61 + 65, 61 + 8194, 61 + 2**20 + 3])
def test_whether_one_record_fills_its_batch_is_the_same_by_its_first_bytes(around):
    """Around the sizes whose lengths take a byte more, also where the length does not fit, or takes more bytes than it must."""
    for size in range(around, around + 9):
        data = bytearray(size)
        for length in range(max(0, 2 * (size - 61 - 8)), 2 * (size - 61) + 1):
            for more in (b"", b"\x00", b"\x80\x00"):  # the same number in more bytes
                number = bytearray()
                rest = length
                while rest > 127:
                    number.append(rest & 127 | 128)
                    rest >>= 7
                number.append(rest | (128 if more else 0))
                data[61:65] = (number + more + bytes(4))[:4]
                expected = _is_one_record(data)
                assert holds_one_record(data, size, *data[61:64]) == expected
    data[61:65] = bytes(4)
    assert not holds_one_record(data, size, *data[61:64])
