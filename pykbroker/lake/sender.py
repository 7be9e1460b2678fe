"""What a task of a replay does: takes rows in order and produces them in transactions that hold the replay's own position.

The position of a partition, the archived offset that comes next, is committed as an offset of a consumer group in the same
transaction as the records. So a task that is killed, fenced or run again finds exactly where to go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from pykbroker.lake.trouble import LakeError

_TRANSACTION_S = 1.0
_NO_POSITION = 0
_COORDINATOR_S = 60.0
_ENDING_S = 10.0
#: What librdkafka says of records that it gives up with their transaction.
_PURGED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}
#: What a broker answers, or librdkafka makes of it, after a newer epoch of the transactional id was given out.
_FENCED = {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
_PASSING = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
#: What may be said otherwise. How large a record may be is the topic's affair.
_DEFAULTS = {"log_level": 0, "compression.type": "zstd", "message.max.bytes": 1_000_000_000}
SENT = "topic STRING, partition INT, rows BIGINT"


@dataclass(frozen=True, slots=True)
class Sending:
    """What tasks are told. ``name`` is that of the replay: its group's, and the beginning of its transactional ids."""

    name: str
    client: Mapping[str, str]
    topics: Mapping[str, str]
    """Archived topics, and what they are called where they go."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """What tells an archived topic from another lake's; written beside each position."""
    transaction_records: int = 20_000
    begun_s: float = 0.0
    first_ms: int = 0
    speed: float | None = None

    def send(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow``: what was sent of each partition. Rows of a partition come in order of their offsets."""
        lines: dict[tuple[str, int], _Line] = {}
        for batch in batches:
            for row in batch.to_pylist():
                place = row["topic"], row["partition"]
                line = lines.get(place)
                if line is None:
                    if self.speed is None:  # then partitions come one after the other
                        _end_all(lines)
                    line = lines[place] = _Line(self, *place)
                if self.speed is not None:
                    self._await_due(row["pace"], lines)
                line.send(row)
        _end_all(lines)
        found = [{"topic": topic, "partition": number, "rows": line.sent} for (topic, number), line in lines.items()]
        schema = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("rows", pa.int64())])
        yield pa.RecordBatch.from_pylist(found, schema)

    def _await_due(self, pace_ms: int, lines: Mapping[Any, _Line]) -> None:
        assert self.speed is not None
        due = self.begun_s + (pace_ms - self.first_ms) / 1000 / self.speed
        while (wait := due - time.time()) > 0:
            for line in lines.values():
                line.commit()  # readers of what is committed are not to wait as well
            time.sleep(min(wait, _TRANSACTION_S))


def committed(group: Any, places: list[Any]) -> list[Any]:
    """The offsets that a group has committed. A new cluster makes the topic of offsets when first asked; one asks again."""
    deadline = time.monotonic() + _COORDINATOR_S
    while True:
        try:
            found: list[Any] = group.committed(places, timeout=_COORDINATOR_S)
        except KafkaException as error:
            if error.args[0].name() not in _PASSING or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return found


def _end_all(lines: Mapping[Any, _Line]) -> None:
    for line in lines.values():
        line.end()


def _kafka_error(error: BaseException) -> Any:
    """Of a fatal error the binding raises what it raised before calling ``on_delivery``, or a SystemError caused by that."""
    cause = error if error.__cause__ is None else error.__cause__
    return cause.args[0]


def _said(error: Any) -> str:
    if error.name() in _FENCED:
        return "its producer is fenced: another replay of this name runs, or the transaction timed out."
    return f"{error.str()}."


class _Line:
    """One partition on its way: a transactional producer, and the group's position."""

    def __init__(self, sending: Sending, topic: str, partition: int) -> None:
        self._sending = sending
        self._place = TopicPartition(sending.topics[topic], partition)
        self._from = f"{topic}-{partition}"
        self._origin = sending.origins.get(topic, "")
        settings = {
            "transactional.id": f"{sending.name}-{self._place.topic}-{partition}", "linger.ms": 20,
            "on_delivery": self._refused, "delivery.report.only.error": True,
        }  # fmt: skip
        self._producer: Any = Producer({**_DEFAULTS, **sending.client, **settings})
        self._group: Any = Consumer({"log_level": 0, **sending.client, "group.id": sending.name})
        try:
            self._producer.init_transactions()  # whoever was here before is fenced, and what it left open aborted
            self._next = max(committed(self._group, [self._place])[0].offset, _NO_POSITION)
        except KafkaException as error:
            raise LakeError(f"{self._from}, to {self._place.topic}: {error.args[0].str()}.") from None
        self._first = self._next
        self._open = 0
        self._opened = 0.0
        self._refusal = ""
        self.sent = 0

    def send(self, row: Mapping[str, Any]) -> None:
        """Raises LakeError for a record that cannot be sent as it is."""
        if row["offset"] < self._next:
            return
        if not row["ms"]:
            raise LakeError(
                f"{self._from}, offset {row['offset']} has the timestamp 0, for which librdkafka would put its own."
            )
        try:
            if not self._open:
                self._begin(row)
            self._produce(row)
            self._producer.poll(0)
        except (KafkaException, SystemError) as error:
            raise self._trouble(f"offset {row['offset']}", _kafka_error(error)) from None
        self._next = row["offset"] + 1
        self._open += 1
        if self._open >= self._sending.transaction_records or time.monotonic() > self._opened + _TRANSACTION_S:
            self.commit()

    def _begin(self, row: Mapping[str, Any]) -> None:
        self._producer.begin_transaction()
        self._opened = time.monotonic()
        self._first = row["offset"]

    def _produce(self, row: Mapping[str, Any]) -> None:
        headers = None if row["headers"] is None else [(each["key"], each["value"]) for each in row["headers"]]
        topic, partition = self._place.topic, self._place.partition
        while True:
            try:
                self._producer.produce(topic, row["value"], row["key"], partition, timestamp=row["ms"], headers=headers)
                return
            except BufferError:  # librdkafka's queue is full
                self._producer.poll(0.1)

    def _refused(self, error: Any, _message: Any) -> None:
        """What a broker says of a record; of the transaction librdkafka will say that there was something."""
        if error.name() not in _PURGED | _FENCED:
            self._refusal = self._refusal or f"{self._place.topic} did not take a record: {error.str()}."

    def _trouble(self, offsets: str, error: Any) -> LakeError:
        """The broker's reason may lie in librdkafka still. To end the transaction makes it hand out every delivery report."""
        for ended in (self._producer.abort_transaction, self._producer.flush):
            with suppress(KafkaException, SystemError):  # after a fatal error there is nothing to end
                ended(_ENDING_S)
        return LakeError(f"{self._from}, {offsets}: {self._refusal or _said(error)}")

    def commit(self) -> None:
        """Records and position, both or none. Raises LakeError where the broker will not have them."""
        if not self._open:
            return
        position = TopicPartition(self._place.topic, self._place.partition, self._next, self._origin)
        try:
            self._again(self._producer.send_offsets_to_transaction, [position], self._group.consumer_group_metadata())
            self._again(self._producer.commit_transaction)
        except (KafkaException, SystemError) as error:
            raise self._trouble(f"offsets {self._first} to {self._next - 1}", _kafka_error(error)) from None
        self.sent += self._open
        self._open = 0

    def _again(self, step: Any, *arguments: Any) -> None:
        while True:
            try:
                step(*arguments)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def end(self) -> None:
        """What is open is committed; the clients end."""
        if self._producer is not None:
            self.commit()
            self._group.close()
            self._producer = None
