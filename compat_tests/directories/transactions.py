"""Transactions over the turns: each begins with the end of the one that was open when the broker before went away."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from compat_tests.directories.client import Client
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, Transacting, coordinator_ready, quiet_until
from pykbroker.wire.records import Record, encode_batch

TOPIC = "in-transactions"
_READERS = "transactional-readers"
_TIMEOUT_MS = 1_800_000  # an open transaction must outlive the switch
_BY_WRITING, _END_BY_WRITING = 12, 5  # versions of Produce and EndTxn in KIP-890's protocol
_PER_BATCH = 3


class Transactions:
    """Transactions that begin and end in one turn, by KIP-890's protocol, and one by the protocol before it that is open
    from each turn to the next. Both commit offsets, too.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._turn = 0
        self._whole: Transacting | None = None
        self._open: Transacting | None = None
        self._sequence = 0
        self._committed: list[bytes] = []
        self._pending: list[bytes] = []

    def begin(self, client: Client) -> None:
        client.create(TOPIC)

    def turn(self, client: Client) -> None:
        """Ends what is open, runs two whole transactions, leaves one open, and reads what is committed."""
        self._turn += 1
        with closing(Ask(self._bootstrap, _BY_WRITING, "life")) as ask:
            ask.learn(TOPIC)
            coordinator_ready(ask, _READERS, GROUP)
            self._end_open(ask)
            self._run_whole(ask, commit=True)
            self._run_whole(ask, commit=False)
            self._leave_open(ask)
        self._read()

    def touch(self) -> None:
        """Writes into the log of transactions: another incarnation of an id of its own."""
        with closing(Ask(self._bootstrap, _BY_WRITING, "life")) as ask:
            Transacting(ask, "touched", _TIMEOUT_MS)

    def _end_open(self, ask: Ask) -> None:
        """Commits and aborts by turns."""
        if self._open is not None:
            self._open.ask = ask
            self._write(self._open, b"after the switch")
            self._open.end(commit=bool(self._turn % 2))
            if self._turn % 2:
                self._committed += self._pending
            self._pending = []

    def _run_whole(self, ask: Ask, *, commit: bool) -> None:
        if self._whole is None:
            self._whole = Transacting(ask, "whole", _TIMEOUT_MS)
        self._whole.ask = ask
        values = self._values(b"whole, committed" if commit else b"whole, aborted")
        self._whole.quietly(self._whole.adding_offsets(_READERS), 4)
        self._append(self._whole, values, 0, version=_BY_WRITING)
        self._commit_offset(self._whole, TOPIC, self._turn * 10 + commit)
        self._whole.end(commit=commit, version=_END_BY_WRITING)
        self._committed += values if commit else []

    def _leave_open(self, ask: Ask) -> None:
        if self._open is None:
            self._open = Transacting(ask, "open", _TIMEOUT_MS)
        self._open.ask = ask
        self._write(self._open, b"before the switch")
        self._open.quietly(self._open.adding_offsets(_READERS), 3)
        self._commit_offset(self._open, "trimmed", self._turn)

    def _write(self, transaction: Transacting, what: bytes) -> None:
        values = self._values(what)
        transaction.add((TOPIC, 0))
        self._append(transaction, values, self._sequence, version=9)
        self._sequence += _PER_BATCH
        self._pending += values

    def _values(self, what: bytes) -> list[bytes]:
        return [b"%s, %d in turn %d" % (what, number, self._turn) for number in range(_PER_BATCH)]

    def _append(self, transaction: Transacting, values: Sequence[bytes], sequence: int, *, version: int) -> None:
        now_ms = int(time.time() * 1000)
        batch = encode_batch(
            [Record(timestamp=now_ms, key=b"k", value=value) for value in values],
            producer_id=transaction.producer_id,
            producer_epoch=transaction.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        answer = quiet_until(
            transaction.ask,
            lambda found: found.responses[0].partition_responses[0].error_code not in (3, 6, 14, 15, 16, 19, 51),
            transaction.producing(TOPIC, batch, version=version),
            version,
        )
        assert answer.responses[0].partition_responses[0].error_code == 0, answer

    def _commit_offset(self, transaction: Transacting, topic: str, offset: int) -> None:
        request = transaction.committing_offsets(_READERS, (topic, 0, offset), metadata=f"turn {self._turn}")
        request.topics[0].name = topic  # this version has no topic ids
        answer = quiet_until(
            transaction.ask, lambda found: found.topics[0].partitions[0].error_code not in (14, 15, 16, 51), request, 3
        )
        assert answer.topics[0].partitions[0].error_code == 0, answer

    def _read(self) -> None:
        """A stock consumer sees of all turns what was committed before the open transaction, in order."""
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "unused", "enable.partition.eof": True}
            | {"isolation.level": "read_committed", "enable.auto.commit": False, "fetch.wait.max.ms": 10}
        )
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        found = []
        while (message := consumer.poll(60)) is not None and message.error() is None:
            found.append(message.value())
        assert message is not None and message.error().code() == KafkaError._PARTITION_EOF, message  # noqa: PT018
        consumer.close()
        assert found == self._committed
