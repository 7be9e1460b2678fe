"""What a broker does on its own, and what makes it do so: each call waits until the round was there."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from compat_tests.directories.client import TOPIC, Client, wait_until
from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.directories.picture import records
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.records import Compression, Record, encode_batch

#: Makes so many records of the present turn.
Make = Callable[[int], list[Record]]

_RETAINED_BYTES = 500
_HOUR_MS = 3600 * 1000
_INTERNAL = ("__consumer_offsets", "__transaction_state")
#: Every batch of another hour begins a segment.
_SMALL_SEGMENTS = {"segment_ms": "1000"}


class Rounds:
    """Topics that the cleaner, retention, and DeleteRecords make shorter, and one that moves."""

    def __init__(self, directories: SharedLogDirectories, make: Make, began_ms: int) -> None:
        self._directories = directories
        self._make = make
        self._began_ms = began_ms
        self._hours = 0
        self._cleaned = dict.fromkeys(_INTERNAL, 0)

    def begin(self, client: Client) -> None:
        dirty = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": "0.01"}
        client.create("compacted", **dirty, **_SMALL_SEGMENTS)
        client.create("retained", retention_bytes=str(_RETAINED_BYTES), retention_ms="-1", **_SMALL_SEGMENTS)
        client.create("trimmed")
        client.create("moving")

    def compact(self, client: Client, turn: int) -> None:
        """More values of the same keys, and a tombstone."""
        for codec in (Compression.NONE, Compression.GZIP, Compression.LZ4):
            values = self._at_another_hour(4)
            values.append(Record(timestamp=values[0].timestamp, key=b"key of turn %d" % turn, value=b"once"))
            values[turn % 4].value = None
            client.produce("compacted", encode_batch(values, compression=codec))

        def cleaned() -> bool:
            found = records(client, "compacted")
            keys = [record.key for record in found[:-5]]  # the last batch is the active segment
            return len(keys) == len(set(keys))

        wait_until(cleaned, "the cleaner")

    def compact_internal(self, client: Client, touch: Callable[[], None], *, first: bool) -> None:
        """The coordinators' topics, whose segments are closed soon; ``touch`` writes into both."""
        for topic in _INTERNAL:
            if first:
                client.alter(TOPIC, topic, {"segment.ms": "100"})

            def cleaned(topic: str = topic) -> int:
                touch()
                offsets = self._directories.checkpoint("cleaner-offset-checkpoint")
                return sum(offset for name, offset in offsets.items() if name.rpartition("-")[0] == topic)

            wait_until(lambda topic=topic: cleaned(topic) > self._cleaned[topic], f"the cleaner in {topic}")
            self._cleaned[topic] = cleaned(topic)

    def retain(self, client: Client) -> None:
        """More segments than the topic keeps."""
        for _ in range(4):
            client.produce("retained", encode_batch(self._at_another_hour(2)))

        def trimmed() -> bool:
            return sum(self._directories.segment_sizes("retained-0")[1:]) < _RETAINED_BYTES

        wait_until(trimmed, "retention")

    def trim(self, client: Client) -> None:
        """DeleteRecords into the middle of a batch. The new start is in no log: it counts once the checkpoint has it."""
        start = client.produce("trimmed", encode_batch(self._make(5))) + 3
        client.delete_records("trimmed", start)
        starts = "log-start-offset-checkpoint"
        wait_until(lambda: self._directories.checkpoint(starts).get("trimmed-0") == start, f"trimmed-0 in {starts}")

    def move(self, client: Client) -> None:
        """A partition goes to the other log directory, where there are two."""
        client.produce("moving", encode_batch(self._make(5)))
        if len(self._directories.paths) == 1:
            return
        here = self._directories.partition("moving-0").parent
        (there,) = (path for path in self._directories.paths if path != here)
        request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(str(there), [AlterReplicaLogDirTopic("moving", [0])])])
        answer = client.ask(request, 2).results[0].partitions[0]
        assert answer.error_code == 0, answer
        wait_until(
            lambda: (there / "moving-0").exists() and not (here / "moving-0").exists(), "the move of a partition"
        )
        client.await_topic("moving")
        client.produce("moving", encode_batch(self._make(5)))

    def await_snapshot(self, client: Client, before: str) -> None:
        """Writes metadata until there is a newer snapshot of it."""
        numbers = itertools.count(10**9)

        def written() -> bool:
            for number in itertools.islice(numbers, 10):
                client.alter(TOPIC, "configured", {"retention.ms": str(number)})
            return self._directories.newest_snapshot() > before

        wait_until(written, "a snapshot of the metadata")

    def _at_another_hour(self, count: int) -> list[Record]:
        """Records an hour after those that went before, long ago."""
        self._hours += 1
        values = self._make(count)
        for record in values:
            record.timestamp = self._began_ms - (1000 - self._hours) * _HOUR_MS
        return values
