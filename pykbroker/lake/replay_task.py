"""A task of a replay: takes rows in order and produces them in transactions that include the replay's position.

The position of a partition is the next archived offset to send. It is committed as an offset of a consumer group, in the same
transaction as the records. So a task that is run again after a crash continues exactly where the last committed transaction ended.

No wait is without an end (``bounded_calls``). If the cluster does not answer, as where a broker died and came back, the transaction begins again with a
new producer, which ends the former one and its transaction.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from pykbroker.lake.bounded_calls import CallTimedOut, called, ended_within
from pykbroker.lake.errors import LakeError

_TRANSACTION_S = 1.0
_NO_POSITION = 0
COORDINATOR_S = 60.0
_ENDING_S = 10.0
_STALL_S = 20.0
"""After so long, the transaction begins again: a broker that answers at all adds a position in far less."""
_TRANSACTION_TIMEOUT_MS = "60000"
"""librdkafka's default for transaction.timeout.ms, after which the broker aborts a transaction, and messages time out."""
_ATTEMPTS = 3
"""How often a transaction begins again before the task ends."""
#: librdkafka's errors for records that it drops with their transaction.
_PURGED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}
#: Errors after another producer with the same transactional id got a newer epoch.
_FENCED = {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
#: librdkafka's errors for a broker that does not answer, or whose answers it takes for ones that pass, such as that of a failed disk.
_TIMED_OUT = {"_MSG_TIMED_OUT", "_TIMED_OUT", "_ALL_BROKERS_DOWN", "_TRANSPORT"}
_SILENT = (
    " The broker is down or cannot write: its disk may be full, which its log says. When it takes records again, run this again with "
    "--name {}: it goes on behind the last record that was committed."
)
#: Errors while the group coordinator is not ready.
_PASSING = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
#: Defaults that --kafka overrides. The topic decides how large a record may be.
_DEFAULTS = {"log_level": 0, "compression.type": "zstd", "message.max.bytes": 1_000_000_000}
SENT = "topic STRING, partition INT, rows BIGINT"


@dataclass(frozen=True, slots=True)
class Sending:
    """The settings of all tasks. ``name`` is the replay's: its group's name, and the prefix of its transactional ids."""

    name: str
    client: Mapping[str, str]
    topics: Mapping[str, str]
    """The target topic of each archived topic."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """For each archived topic, the cluster and topic id; committed as metadata with each position, to detect other lakes' positions."""
    transaction_records: int = 20_000
    transaction_bytes: int = 64 << 20
    """Keys and values of one transaction, which the task keeps until it is committed."""
    begun_s: float = 0.0
    first_ms: int = 0
    speed: float | None = None

    def send(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Send the rows, for ``mapInArrow``; returns the number of sent rows of each partition.

        The rows of a partition come in offset order. Raises LakeError if a record cannot be sent.
        """
        lines: dict[tuple[str, int], _Line] = {}
        for batch in batches:
            for row in batch.to_pylist():
                place = row["topic"], row["partition"]
                line = lines.get(place)
                if line is None:
                    if self.speed is None:  # the previous partition is complete
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
                line.commit()  # so that read_committed consumers see the records before the pause
            time.sleep(min(wait, _TRANSACTION_S))


def committed(group: Any, places: list[Any], within_s: float = COORDINATOR_S) -> list[Any]:
    """The committed offsets of a group, by its consumer. Retries while the coordinator is not available: a new cluster creates the offsets
    topic at the first request. Raises KafkaException.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:
            found: list[Any] = ended_within(2 * within_s, lambda: group.committed(places, timeout=within_s))
        except KafkaException as error:
            if error.args[0].name() not in _PASSING or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return found


def _end_all(lines: Mapping[Any, _Line]) -> None:
    for line in lines.values():
        line.end()


def kafka_error(error: BaseException) -> KafkaError | None:
    """The KafkaError of an exception or of its causes; None if there is none.

    If ``on_delivery`` is called while a fatal error is raised, confluent-kafka raises a SystemError caused by that error.
    """
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, KafkaException) and each.args and isinstance(each.args[0], KafkaError):
            return each.args[0]
        each = each.__cause__ or each.__context__
    return None


def _is_silence(error: BaseException) -> bool:
    """Whether the cluster did not answer in time."""
    found = kafka_error(error)
    return found is not None and (found.retriable() or found.name() in _TIMED_OUT)


def _is_worth_another(error: BaseException) -> bool:
    """Whether a new producer may succeed where this one failed."""
    found = kafka_error(error)
    return found is not None and found.name() not in _FENCED and (_is_silence(error) or found.txn_requires_abort())


def _said(error: BaseException) -> str:
    found = kafka_error(error)
    if found is None:
        return f"confluent-kafka failed: {error}."
    if found.name() in _FENCED:
        return "its producer is fenced: another replay of this name runs, or the transaction timed out."
    return f"{found.str()}."


class _Line:
    """The sending of one partition: a transactional producer, and the position in the group.

    Raises LakeError if the cluster does not answer or refuses.
    """

    def __init__(self, sending: Sending, topic: str, partition: int) -> None:
        self._sending = sending
        self._place = TopicPartition(sending.topics[topic], partition)
        self._from = f"{topic}-{partition}"
        self._origin = sending.origins.get(topic, "")
        self._patience_s = int(sending.client.get("transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS)) / 1000
        self._open: list[Mapping[str, Any]] = []
        """The rows of the open transaction."""
        self._bytes = 0
        self._opened = 0.0
        self._refusal = ""
        self.sent = 0
        self._start()

    def _start(self) -> None:
        """Make a producer, which fences its predecessor and aborts its open transaction, and ask for the position."""
        settings = {
            "transactional.id": f"{self._sending.name}-{self._place.topic}-{self._place.partition}", "linger.ms": 20,
            "on_delivery": self._refused, "delivery.report.only.error": True,
        }  # fmt: skip
        self._producer: Any = Producer({**_DEFAULTS, **self._sending.client, **settings})
        group: Any = Consumer({"log_level": 0, **self._sending.client, "group.id": self._sending.name})
        try:
            called(self._patience_s, self._producer.init_transactions)
            self._next = max(committed(group, [self._place], self._patience_s)[0].offset, _NO_POSITION)
            self._membership = ended_within(_ENDING_S, group.consumer_group_metadata)
            ended_within(_ENDING_S, group.close)
        except KafkaException as error:
            raise LakeError(f"{self._from}, to {self._place.topic}: {self._without_secrets(error)}") from None

    def send(self, row: Mapping[str, Any]) -> None:
        """Send a row, unless an earlier run has. Raises LakeError if the record cannot be sent unchanged or is refused."""
        if row["offset"] < self._next:
            return
        if not row["ms"]:
            raise LakeError(
                f"{self._from}, offset {row['offset']} has the timestamp 0, which librdkafka would replace by the present time."
            )
        try:
            self._add(row)
        except (KafkaException, SystemError) as error:
            raise self._trouble(f"offset {row['offset']}", error) from None
        sending, is_due = self._sending, time.monotonic() > self._opened + _TRANSACTION_S
        if is_due or len(self._open) >= sending.transaction_records or self._bytes >= sending.transaction_bytes:
            self.commit()

    def _add(self, row: Mapping[str, Any]) -> None:
        """Add a row to the open transaction, or to a new one."""
        if not self._open:
            self._producer.begin_transaction()
            self._opened = time.monotonic()
        self._open.append(row)
        self._bytes += len(row["value"] or b"") + len(row["key"] or b"")
        self._produce(row)
        self._producer.poll(0)
        self._next = row["offset"] + 1

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
        """Keep the broker's reason: the transaction's own error does not name it."""
        if error.name() not in _PURGED | _FENCED:
            advice = _SILENT.format(self._sending.name) if error.name() in _TIMED_OUT else ""
            self._refusal = self._refusal or f"{self._place.topic} did not take a record: {error.str()}.{advice}"

    def _without_secrets(self, error: BaseException) -> str:
        """What is said of an error: the broker's reason if it gave one."""
        advice = _SILENT.format(self._sending.name) if _is_silence(error) else ""
        return self._refusal or f"{_said(error)}{advice}"

    def _trouble(self, offsets: str, error: BaseException) -> LakeError:
        """The error to raise. Aborting the transaction first makes librdkafka deliver all reports, which have the broker's reason."""
        if not isinstance(error, CallTimedOut):
            self._give_up()
        return LakeError(f"{self._from}, {offsets}: {self._without_secrets(error)}")

    def _give_up(self) -> None:
        """Abort the transaction, if the producer still answers."""
        for ended in (self._producer.abort_transaction, self._producer.flush):
            with suppress(KafkaException, SystemError):  # after a fatal error, there is no transaction to abort
                ended_within(2 * _ENDING_S, ended, _ENDING_S)

    def commit(self) -> None:
        """Commit the open transaction, if any: records and position, both or none. Raises LakeError if the broker refuses, or does not answer
        in ``_ATTEMPTS`` transactions.
        """
        if not self._open:
            return
        first, last = self._open[0]["offset"], self._open[-1]["offset"]
        failed: BaseException | None = None
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if failed is not None:
                    self._begin_again(failed)
                self._commit_open()
            except (KafkaException, SystemError) as error:
                if self._refusal or attempt == _ATTEMPTS or not _is_worth_another(error):
                    raise self._trouble(f"offsets {first} to {last}", error) from None
                failed = error
            else:
                return

    def _commit_open(self) -> None:
        if not self._open:  # it had been committed
            return
        position = TopicPartition(self._place.topic, self._place.partition, self._next, self._origin)
        send = self._producer.send_offsets_to_transaction
        called(min(self._patience_s, _STALL_S), send, [position], self._membership)
        called(self._patience_s, self._producer.commit_transaction)
        self._close_transaction()

    def _close_transaction(self) -> None:
        self.sent += len(self._open)
        self._open, self._bytes = [], 0

    def _begin_again(self, failed: BaseException) -> None:
        """Send the rows of the open transaction with a new producer, unless the position says that it was committed."""
        if not isinstance(failed, CallTimedOut):
            self._give_up()
        rows = self._open
        self._start()
        if self._next > rows[-1]["offset"]:
            self._close_transaction()
            return
        self._open, self._bytes = [], 0
        for row in rows:
            self._add(row)

    def end(self) -> None:
        """Commit the open transaction. Raises LakeError if the broker refuses."""
        if self._producer is not None:
            self.commit()
            self._producer = None
