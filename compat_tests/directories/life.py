"""What a cluster lives through while one broker or the other serves it: turns that go on where the last one ended."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer

from compat_tests.directories.client import Client
from compat_tests.directories.folder import DataFolder
from compat_tests.directories.picture import records
from compat_tests.directories.transactions import Transactions
from wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.records import Compression, Record, encode_batch

CODECS = tuple(Compression)
RETAINED_BYTES = 500
_TOPIC, _BROKER, _SET, _DELETE = 2, 4, 0, 1
_DUPLICATE_SEQUENCE, _OUT_OF_ORDER_SEQUENCE_NUMBER = 46, 45
_HOUR_MS = 3600 * 1000
_INTERNAL = ("__consumer_offsets", "__transaction_state")
#: Every batch of another hour begins a segment.
_SMALL_SEGMENTS = {"segment_ms": "1000"}


class Life:
    """The topics, groups and producers of a cluster. ``begin`` once, then a ``turn`` for each broker that serves it."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._bootstrap = folder.bootstrap
        self._turn = 0
        self._began_ms = int(time.time() * 1000)
        self._hours = 0
        self._producer_ids: list[int] = []
        self._ongoing = -1
        self._sequence = 0
        self._cleaned = dict.fromkeys(_INTERNAL, 0)
        self._last: tuple[bytes, int] | None = None
        self._transactions = Transactions(folder.bootstrap)

    def begin(self, client: Client) -> None:
        """Makes what lives on through all turns."""
        for codec in CODECS:
            client.create(f"codec-{codec.name.lower()}", partitions=2)
        client.create("stamped", message_timestamp_type="LogAppendTime")
        client.create("recompressed", compression_type="zstd", compression_zstd_level="5")
        dirty = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01"}
        client.create("compacted", **dirty, **_SMALL_SEGMENTS)
        client.create("retained", retention_bytes=str(RETAINED_BYTES), retention_ms="-1", **_SMALL_SEGMENTS)
        client.create("trimmed")
        client.create("moving")
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
        _alter(client, _BROKER, "", {"message.max.bytes": "3000000"})

    def turn(self, client: Client) -> None:
        """One broker's share: something of everything, and the end of what the broker before left unfinished."""
        self._turn += 1
        snapshot = self._folder.newest_snapshot()
        for codec in CODECS:
            for partition in range(2):
                client.produce(f"codec-{codec.name.lower()}", self._batch(compression=codec), partition)
        client.produce("stamped", self._batch())
        client.produce("recompressed", self._batch(compression=Compression.GZIP))
        self._go_on(client)
        self._compact(client)
        self._retain(client)
        self._trim(client)
        self._replace(client)
        changes: dict[str, str | None] = {"retention.ms": str(10**9 + self._turn), "flush.messages": None}
        if self._turn % 2:
            changes["flush.messages"] = "1000"
        _alter(client, _TOPIC, "configured", changes)
        client.commit("readers", "codec-none", [self._turn, 2 * self._turn], f"note {self._turn}")
        client.commit(f"readers-{self._turn}", "trimmed", [5])
        self._consume()
        self._transactions.turn(client)
        self._new_producer(client)
        self._compact_internal(client)
        self._move(client)
        self._await_snapshot(client, snapshot)

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

    def _compact(self, client: Client) -> None:
        """More values of the same keys, and a tombstone; waits until the cleaner was there."""
        for codec in (Compression.NONE, Compression.GZIP, Compression.LZ4):
            values = self._at_another_hour(self._records(4))
            values.append(Record(timestamp=values[0].timestamp, key=b"key of turn %d" % self._turn, value=b"once"))
            values[self._turn % 4].value = None
            client.produce("compacted", encode_batch(values, compression=codec))

        def cleaned() -> bool:
            found = records(client, "compacted")
            keys = [record.key for record in found[:-5]]  # the last batch is the active segment
            return len(keys) == len(set(keys))

        _wait(cleaned, "the cleaner")

    def _compact_internal(self, client: Client) -> None:
        """Waits until the cleaner was in the coordinators' topics again, whose segments are closed soon."""
        for topic in _INTERNAL:
            if self._turn == 1:
                _alter(client, _TOPIC, topic, {"segment.ms": "100"})

            def cleaned(topic: str = topic) -> int:
                client.commit("readers", "codec-none", [self._turn, 2 * self._turn], f"note {self._turn}")
                self._transactions.touch()
                offsets = self._folder.checkpoint("cleaner-offset-checkpoint")
                return sum(offset for name, offset in offsets.items() if name.rpartition("-")[0] == topic)

            _wait(lambda topic=topic: cleaned(topic) > self._cleaned[topic], f"the cleaner in {topic}")
            self._cleaned[topic] = cleaned(topic)

    def _move(self, client: Client) -> None:
        """A partition moves to the other log directory, where there are two."""
        client.produce("moving", self._batch())
        if len(self._folder.paths) == 1:
            return
        here = self._folder.partition("moving-0").parent
        (there,) = (path for path in self._folder.paths if path != here)
        request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(str(there), [AlterReplicaLogDirTopic("moving", [0])])])
        answer = client.ask(request, 2).results[0].partitions[0]
        assert answer.error_code == 0, answer
        _wait(lambda: (there / "moving-0").exists() and not (here / "moving-0").exists(), "the move of a partition")
        client.await_topic("moving")
        client.produce("moving", self._batch())

    def _await_snapshot(self, client: Client, before: str) -> None:
        """Writes metadata until there is a new snapshot of it."""
        numbers = itertools.count(10**9)

        def written() -> bool:
            for number in itertools.islice(numbers, 10):
                _alter(client, _TOPIC, "configured", {"retention.ms": str(number)})
            return self._folder.newest_snapshot() > before

        _wait(written, "a snapshot of the metadata")

    def _retain(self, client: Client) -> None:
        """More segments than the topic keeps; waits until retention was there."""
        for _ in range(4):
            client.produce("retained", encode_batch(self._at_another_hour(self._records(2))))

        def trimmed() -> bool:
            files = sorted(self._folder.partition("retained-0").glob("*.log"))
            return sum(file.stat().st_size for file in files[1:]) < RETAINED_BYTES

        _wait(trimmed, "retention")

    def _trim(self, client: Client) -> None:
        """DeleteRecords into the middle of a batch. The new start is in no log: it counts once the checkpoint has it."""
        start = client.produce("trimmed", self._batch()) + 3
        client.delete_records("trimmed", start)
        starts = "log-start-offset-checkpoint"
        _wait(lambda: self._folder.checkpoint(starts).get("trimmed-0") == start, f"trimmed-0 in {starts}")

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

    def _at_another_hour(self, values: Sequence[Record]) -> list[Record]:
        """The same records an hour after those that went before, long ago."""
        self._hours += 1
        for record in values:
            record.timestamp = self._began_ms - (1000 - self._hours) * _HOUR_MS
        return list(values)


def _alter(client: Client, kind: int, name: str, changes: dict[str, str | None]) -> None:
    configs = [
        AlterableConfig(setting, _DELETE if value is None else _SET, value) for setting, value in changes.items()
    ]
    answer = client.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)]), 1)
    assert answer.responses[0].error_code == 0, answer


def _wait(until: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
