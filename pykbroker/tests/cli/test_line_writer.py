"""What becomes of each line, against a log in memory that refuses as told; compat_tests/cli has real brokers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.cli.input_lines import BadLine
from pykbroker.cli.line_writer import LineWriter
from pykbroker.client.errors import Unreachable
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record

UNREADABLE, REFUSED = b"unreadable", b"refused"


class Log:
    """Takes batches; refuses a whole one for one bad record, as brokers do, and goes away after ``batches``."""

    def __init__(self, batches: int = 1000) -> None:
        self.records: dict[int, list[bytes]] = {}
        self._left = batches

    def send(self, partition: TopicPartition, records: list[Record]) -> None:
        if not self._left:
            raise Unreachable("gone")
        self._left -= 1
        values = [bytes(record.value or b"") for record in records]
        if REFUSED in values:
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
        self.records.setdefault(partition.number, []).extend(values)

    @property
    def count(self) -> int:
        return sum(map(len, self.records.values()))


def _read(line: bytes) -> tuple[Record, int | None]:
    """A line is the partition's digit, then the value."""
    if line[1:] == UNREADABLE:
        raise BadLine("unreadable")
    return Record(value=line[1:]), int(line[:1])


def _writer(log: Log, skipped: list[str] | None = None) -> LineWriter:
    leave_out = None if skipped is None else skipped.append
    return LineWriter("t", 3, read=_read, send=log.send, leave_out=leave_out)


def test_the_lines_before_a_bad_one_are_written() -> None:
    log = Log()
    with pytest.raises(BadLine) as caught:
        _writer(log).write([b"0a", b"1b", b"0" + UNREADABLE, b"0d"])
    assert log.records == {0: [b"a"], 1: [b"b"]}
    assert caught.value.message.startswith("Line 3: unreadable. Every line before it is written, 2 records;")


def test_a_record_that_the_broker_refuses_costs_no_other() -> None:
    log = Log()
    writer = _writer(log)
    writer.write([b"0a"])
    with pytest.raises(BadLine) as caught:
        writer.write([b"0b", b"1c", b"0d", b"0" + REFUSED, b"0f", b"1g"])
    assert log.records == {0: [b"a", b"b", b"d"], 1: [b"c"]}
    assert "Line 5: refused: " in caught.value.message
    assert "(MESSAGE_TOO_LARGE)" in caught.value.message
    assert "Every line before it is written, 4 records;" in caught.value.message


def test_lines_after_the_bad_one_that_were_on_their_way_are_told() -> None:
    log = Log()
    with pytest.raises(BadLine, match=r"is written, 1 record; written are also 2 lines after it, up to line 4;"):
        _writer(log).write([b"0a", b"1" + REFUSED, b"0c", b"0d", b"1e"])
    assert log.records == {0: [b"a", b"c", b"d"]}


def test_bad_lines_can_be_left_out() -> None:
    log, skipped = Log(), []
    writer = _writer(log, skipped)
    writer.write([b"0a", b"0" + UNREADABLE, b"0" + REFUSED, b"7z"])
    writer.write([b"0b"])
    assert (log.records, writer.written, writer.left_out) == ({0: [b"a", b"b"]}, 2, 3)
    assert skipped[0] == "Line 2 is left out: unreadable."
    assert skipped[1] == "Line 4 is left out: there is no partition 7; t has 3 partitions."
    assert skipped[2].startswith("Line 3 is left out: refused: ")


def test_many_bad_lines_are_not_told_one_by_one() -> None:
    skipped: list[str] = []
    writer = _writer(Log(), skipped)
    writer.write([b"0" + UNREADABLE] * 5000)
    assert (len(skipped), writer.left_out) == (11, 5000)


def test_a_broker_that_goes_away_leaves_a_doubt() -> None:
    writer = _writer(Log(batches=1))
    writer.write([b"0a"])
    with pytest.raises(Unreachable):
        writer.write([b"0b", b"0c"])
    assert writer.tally == "Written before to t: 1 record; whether 2 more were, no answer tells."


def test_a_refusal_leaves_none() -> None:
    def refuse(_partition: TopicPartition, _records: list[Record]) -> None:
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    writer = LineWriter("t", 1, read=_read, send=refuse)
    with pytest.raises(KafkaError):
        writer.write([b"0a"])
    assert writer.tally == "Written before to t: 0 records."


LINES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([b"a", b"b", b"c", b"d", UNREADABLE, REFUSED])), max_size=30
)


@given(lines=LINES, group=st.integers(1, 10), batches=st.integers(0, 40), skip=st.booleans())
def test_every_line_is_written_once_or_told(
    lines: list[tuple[int, bytes]], group: int, batches: int, skip: bool
) -> None:
    log = Log(batches)
    writer = _writer(log, [] if skip else None)
    good = [partition < 3 and value not in (UNREADABLE, REFUSED) for partition, value in lines]
    end: Exception | None = None
    try:
        for at in range(0, len(lines), group):
            writer.write([b"%d%s" % line for line in lines[at : at + group]])
    except (BadLine, Unreachable) as error:
        end = error
    assert writer.written == log.count
    for partition, values in log.records.items():  # in order, each at most once, none that is bad
        expected = [value for (place, value), fine in zip(lines, good, strict=True) if fine and place == partition]
        assert values == expected[: len(values)]
    if end is None:
        assert (writer.written, writer.left_out) == (sum(good), len(lines) - sum(good))
        assert skip or all(good)
    elif isinstance(end, BadLine):
        first = good.index(False)
        assert end.message.startswith(f"Line {first + 1}: ")
        assert (
            f"Every line before it is written, {first} record" if first else "No line stands before it;"
        ) in end.message
    else:
        assert writer.in_doubt > 0
