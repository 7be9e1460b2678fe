"""The form of a dead letter: a record whose headers say what was given up, by whom and why. Names and words are Kafka's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.wire.batch_header import HEADER_SIZE
from pykbroker.wire.records import Record

if TYPE_CHECKING:
    from pykbroker.share_partitions.states import GivenUp

TOPIC: Final = "__dlq.errors.topic"
PARTITION: Final = "__dlq.errors.partition"
OFFSET: Final = "__dlq.errors.offset"
GROUP: Final = "__dlq.errors.group"
DELIVERY_COUNT: Final = "__dlq.errors.delivery.count"
MESSAGE: Final = "__dlq.errors.message"
REJECTED: Final = "Offset rejected by client."
TOO_OFTEN: Final = "Offset delivery count exceeded the threshold."

#: The most bytes of a record besides keys and values, its own and those of its headers; and of each header.
_RECORD_OVERHEAD = 26
_HEADER_OVERHEAD = 10
#: Of an offset. Anybody may write to the topic, and int() refuses thousands of digits.
_MOST_DIGITS = 19


class LetterForm:
    """Makes the dead letters of one share partition, and knows them again."""

    def __init__(self, group_id: str, topic: str, partition: int) -> None:
        self._where = ((TOPIC, topic.encode()), (PARTITION, b"%d" % partition))
        self._group = (GROUP, group_id.encode())

    def letter(self, offset: int, given_up: GivenUp, now_ms: int, copied: Record | None) -> Record:
        """The letter for a record; with ``copied`` it has that record's key and value, but not its headers."""
        headers = (
            *self._where,
            (OFFSET, b"%d" % offset),
            self._group,
            (DELIVERY_COUNT, b"%d" % given_up.deliveries),
            (MESSAGE, (REJECTED if given_up.rejected else TOO_OFTEN).encode()),
        )
        if copied is None:
            return Record(timestamp=now_ms, headers=headers)
        return Record(timestamp=now_ms, key=copied.key, value=copied.value, headers=headers)

    def offset_of(self, record: Record) -> int | None:
        """The offset for which a record is the letter; None if it is no letter of this share partition."""
        headers = dict(record.headers)
        offset = headers.get(OFFSET)
        if (
            offset is None
            or not offset.isdigit()
            or len(offset) > _MOST_DIGITS
            or any(headers.get(name) != value for name, value in self._where)
        ):
            return None
        return int(offset) if headers.get(GROUP) == self._group[1] else None


def size_of(letter: Record) -> int:
    """Bytes that a batch needs for a letter, or a few more."""
    headers = sum(len(name) + len(value or b"") + _HEADER_OVERHEAD for name, value in letter.headers)
    return len(letter.key or b"") + len(letter.value or b"") + headers + _RECORD_OVERHEAD


def fits(letter: Record, max_message_bytes: int) -> bool:
    """Whether a topic takes a letter, in a batch of its own."""
    return HEADER_SIZE + size_of(letter) <= max_message_bytes
