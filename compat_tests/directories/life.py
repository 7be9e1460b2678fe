"""What a cluster lives through while one broker or the other serves it: turns that go on where the last one ended."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer

from compat_tests.directories.client import BROKER, TOPIC, Client
from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.directories.rounds import Rounds
from compat_tests.directories.transactions import Transactions
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pykbroker.wire.records import Compression, Record, encode_batch

CODECS = tuple(Compression)
_DUPLICATE_SEQUENCE, _OUT_OF_ORDER_SEQUENCE_NUMBER = 46, 45


class Life:
    """The topics, groups and producers of a cluster. ``begin`` once, then a ``turn`` for each broker that serves it."""

    def __init__(self, directories: SharedLogDirectories) -> None:
        self._directories = directories
        self._bootstrap = directories.bootstrap
        self._turn = 0
        self._began_ms = int(time.time() * 1000)
        self._producer_ids: list[int] = []
        self._ongoing = -1
        self._sequence = 0
        self._last: tuple[bytes, int] | None = None
        self._transactions = Transactions(directories.bootstrap)
        self._rounds = Rounds(directories, self._records, self._began_ms)

    def begin(self, client: Client) -> None:
        """Makes what lives on through all turns."""
        for codec in CODECS:
            client.create(f"codec-{codec.name.lower()}", partitions=2)
        client.create("stamped", message_timestamp_type="LogAppendTime")
        client.create("recompressed", compression_type="zstd", compression_zstd_level="5")
        self._rounds.begin(client)
        client.create("ongoing")
        client.create("configured", partitions=3, cleanup_policy="compact,delete", max_message_bytes="2000000")
        client.create("recreated")
        self._ongoing = client.producer_id()
        self._transactions.begin(client)
        quota = AlterClientQuotasRequestEntryData(
            [EntityData("client-id", "busy")], [OpData("producer_byte_rate", 1e6)]
        )
        assert client.ask(AlterClientQuotasRequest([quota]), 1).entries[0].error_code == 0
        credential = ScramCredentialUpsertion("somebody", 1, 8192, b"salt", b"p" * 32)
        answer = client.ask(AlterUserScramCredentialsRequest([], [credential]), 0)
        assert answer.results[0].error_code == 0, answer
        client.alter(BROKER, "", {"message.max.bytes": "3000000"})

    def turn(self, client: Client) -> None:
        """One broker's share: something of everything, and the end of what the broker before left unfinished."""
        self._turn += 1
        snapshot = self._directories.newest_snapshot()
        for codec in CODECS:
            for partition in range(2):
                client.produce(f"codec-{codec.name.lower()}", self._batch(compression=codec), partition)
        client.produce("stamped", self._batch())
        client.produce("recompressed", self._batch(compression=Compression.GZIP))
        self._go_on(client)
        self._rounds.compact(client, self._turn)
        self._rounds.retain(client)
        self._rounds.trim(client)
        self._replace(client)
        changes: dict[str, str | None] = {"retention.ms": str(10**9 + self._turn), "flush.messages": None}
        if self._turn % 2:
            changes["flush.messages"] = "1000"
        client.alter(TOPIC, "configured", changes)
        self._commit(client)
        client.commit(f"readers-{self._turn}", "trimmed", [5])
        self._consume()
        self._transactions.turn(client)
        self._new_producer(client)
        self._rounds.compact_internal(client, lambda: self._touch(client), first=self._turn == 1)
        self._rounds.move(client)
        self._rounds.await_snapshot(client, snapshot)

    def _commit(self, client: Client) -> None:
        client.commit("readers", "codec-none", [self._turn, 2 * self._turn], f"note {self._turn}")

    def _touch(self, client: Client) -> None:
        """Writes into the logs of both coordinators; what it says is known already."""
        self._commit(client)
        self._transactions.touch()

    def _batch(self, count: int = 5, **options: Any) -> bytes:
        return encode_batch(self._records(count), **options)

    def _records(self, count: int) -> list[Record]:
        """Records of this turn, with headers; the time is that of the tests, since producers are forgotten by it."""
        return [
            Record(
                timestamp=self._began_ms + 1000 * self._turn + number,
                key=b"key %d" % number,
                value=b"value %d of turn %d" % (number, self._turn) * 5,
                headers=[("turn", b"%d" % self._turn), ("nothing", None)],
            )
            for number in range(count)
        ]

    def _go_on(self, client: Client) -> None:
        """One idempotent producer all through: what it sent last is known as a duplicate, and a gap is refused."""
        if self._last is not None:
            batch, offset = self._last
            again = client.try_to_produce("ongoing", batch)
            assert (again.error_code, again.base_offset) in ((0, offset), (_DUPLICATE_SEQUENCE, -1)), again
            assert again.base_offset == offset, again
        gap = client.try_to_produce("ongoing", self._sequenced(self._sequence + 1))
        assert gap.error_code == _OUT_OF_ORDER_SEQUENCE_NUMBER or self._last is None, gap
        if gap.error_code == 0:
            self._sequence += 6
        batch = self._sequenced(self._sequence)
        self._last = batch, client.produce("ongoing", batch)
        self._sequence += 5

    def _sequenced(self, sequence: int) -> bytes:
        return self._batch(producer_id=self._ongoing, producer_epoch=0, base_sequence=sequence)

    def _replace(self, client: Client) -> None:
        """A topic that is gone at the end of the turn, and one that is another under the same name."""
        client.create("doomed")
        client.produce("doomed", self._batch())
        client.delete("doomed")
        client.delete("recreated")
        client.create("recreated", partitions=self._turn)
        client.produce("recreated", self._batch())

    def _consume(self) -> None:
        """A stock consumer's group: each turn it gets what is new, from where it was, and nothing twice."""
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "members", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["codec-zstd"])
        found = []
        deadline = time.monotonic() + 30
        while len(found) < 10 and time.monotonic() < deadline:
            found += consumer.consume(10, 0.2)
        consumer.commit(asynchronous=False)
        consumer.close()
        turns = {dict(message.headers())["turn"] for message in found if message.error() is None}
        assert len(found) == 10 and turns == {b"%d" % self._turn}, found  # noqa: PT018

    def _new_producer(self, client: Client) -> None:
        """Producer ids are never handed out twice."""
        self._producer_ids.append(client.producer_id())
        assert len(set(self._producer_ids)) == len(self._producer_ids), self._producer_ids
