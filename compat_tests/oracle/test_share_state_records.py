"""What the share coordinator writes to ``__share_group_state`` and takes away again, in both brokers: the same requests, drawn by a seed, have
the same answers and the same records, snapshots among them, and the log ends up beginning at the same offset.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

from compat_tests.conftest import takes_long
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.dead_letters import without_times
from compat_tests.oracle.cases.share_groups import wait_for_coordinator
from compat_tests.oracle.group_records import records_in
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.share_member import in_both
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.wire.internal.catalogue import SHARE_RECORDS
from pykbroker.wire.internal.coordinator import decode_coordinator_key, decode_coordinator_value
from pykbroker.wire.messages import delete_share_group_state as delete
from pykbroker.wire.messages import initialize_share_group_state as initialize
from pykbroker.wire.messages import read_share_group_state as read
from pykbroker.wire.messages import read_share_group_state_summary as summary
from pykbroker.wire.messages import write_share_group_state as write
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.primitives import uuid_to_str

_SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.prune.interval.ms": "200",
}
_PARTITIONS, _REQUESTS, _LIMIT_S = 2, 120, 60
_NOT_YET = (14, 15, 16)
_EARLIEST = -2
_EPOCHS = [-1, 0, *[1] * 9, 2]
#: Requests, with what one has of a topic, and their version.
_REQUESTS_OF: dict[str, tuple[Any, Any, int]] = {
    "initialize": (initialize.InitializeShareGroupStateRequest, initialize.InitializeStateData, 0),
    "read": (read.ReadShareGroupStateRequest, read.ReadStateData, 0),
    "look": (summary.ReadShareGroupStateSummaryRequest, summary.ReadStateSummaryData, 1),
    "write": (write.WriteShareGroupStateRequest, write.WriteStateData, 1),
    "delete": (delete.DeleteShareGroupStateRequest, delete.DeleteStateData, 0),
}


class _Coordinator:
    """The share coordinator of a broker, and what it has written about one group so far."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.group, self.topic_id = ask.name("group"), ask.topic_ids[ask.topic(partitions=_PARTITIONS)]
        wait_for_coordinator(ask, f"{self.group}:{uuid_to_str(self.topic_id)}:0")
        #: Offset, key and value, without times.
        self.written: list[tuple[int, str, int, Any]] = []
        self._next = 0

    def asks(self, kind: str, data: Any) -> str:
        """Ask, until the coordinator has loaded; then look at what it wrote."""
        request, of_topic, version = _REQUESTS_OF[kind]
        answer = self.ask.until(
            lambda found: found.results[0].partitions[0].error_code not in _NOT_YET,
            request(self.group, [of_topic(self.topic_id, [data])]),
            version,
        )
        self.look()
        return f"{kind} {data}: {answer.results[0].partitions[0]}"

    def look(self) -> None:
        """Read on. What was written last is never taken away, so nothing is missed."""
        topics = [
            FetchTopic(SHARE_GROUP_STATE, partitions=[FetchPartition(0, -1, self._next, partition_max_bytes=1 << 20)])
        ]
        answer = self.ask.quietly(FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics), 11)
        (found,) = answer.responses[0].partitions
        assert found.error_code == 0, found
        for record in records_in(bytes(found.records or b"")):
            if record.offset >= self._next:
                self._next = record.offset + 1
                key = decode_coordinator_key(record.key or b"", SHARE_RECORDS)
                value = record.value and decode_coordinator_value(key, record.value, SHARE_RECORDS)
                kind = type(key).__name__
                self.written.append((record.offset, kind, key.partition, value and _timeless(kind, value)))

    def first(self) -> int:
        """Where the log begins."""
        topics = [ListOffsetsTopic(SHARE_GROUP_STATE, [ListOffsetsPartition(0, timestamp=_EARLIEST)])]
        (found,) = self.ask.quietly(ListOffsetsRequest(-1, topics=topics), 5).topics[0].partitions
        return int(found.offset)

    def needed(self) -> int:
        """The first offset of a snapshot in use."""
        last = {partition: offset for offset, kind, partition, value in self.written if "Snapshot" in kind and value}
        return min(last.values())

    def await_that(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while not seen():
            assert time.monotonic() < deadline, (self.written[-5:], self.first())
            time.sleep(0.05)


def _timeless(kind: str, value: Any) -> tuple[Any, ...]:
    """Of times nothing but whether the snapshot was made for the log's sake."""
    for_the_log = kind == "ShareSnapshotKey" and value.create_timestamp != value.write_timestamp
    return (*without_times(kind, value), for_the_log)


def _drawn(coordinator: _Coordinator, source: random.Random) -> list[str]:
    """The answers to requests that a seed draws: most are writes, some of them by leaders and with states that are behind."""
    start = [0] * _PARTITIONS
    answers = [coordinator.asks("initialize", initialize.PartitionData(each, 0, -1)) for each in range(_PARTITIONS)]
    for _ in range(_REQUESTS):
        partition = source.randrange(_PARTITIONS)
        leader, state = source.choice(_EPOCHS), source.choice(_EPOCHS)
        kind = source.choice([*["write"] * 12, "read", "look", "initialize", "delete"])
        if kind == "write":
            start[partition] = max(start[partition] + source.choice([-2, 0, 0, 0, 1, 3]), 0)
            done, batches = source.randrange(4), _batches(source, start[partition])
            data: Any = write.PartitionData(partition, state, leader, start[partition], done, batches)
        elif kind == "read":
            data = read.PartitionData(partition, leader)
        elif kind == "look":
            data = summary.PartitionData(partition, leader)
        elif kind == "initialize":
            data = initialize.PartitionData(partition, state, source.choice([-1, 5]))
        else:
            data = delete.PartitionData(partition)
        answers.append(coordinator.asks(kind, data))
        if kind == "delete":
            answers.append(coordinator.asks("initialize", initialize.PartitionData(partition, 0, 0)))
    return answers


def _batches(source: random.Random, begin: int) -> list[write.StateBatch]:
    """One after another, as leaders write them, with gaps."""
    found, at = [], begin + source.randrange(3)
    for _ in range(source.randrange(4)):
        last = at + source.randrange(4)
        found.append(write.StateBatch(at, last, source.choice([0, 2, 4]), source.randrange(1, 4)))
        at = last + 1 + source.choice([0, 0, 2])
    return found


def _in_a_broker(tells: Callable[[_Coordinator], Any], broker: BrokerProcess) -> Any:
    broker.start()
    with closing(Ask(broker.bootstrap, 2, "states")) as ask:
        return tells(_Coordinator(ask))


def test_records_and_what_is_taken_away_are_those_of_apache_kafka(tmp_path):
    def tells(coordinator: _Coordinator) -> Any:
        answers = _drawn(coordinator, random.Random(35))
        coordinator.await_that(lambda: coordinator.first() == coordinator.needed())
        return answers, coordinator.written, coordinator.first()

    kafkas, ours = in_both(tmp_path, _SETTINGS, partial(_in_a_broker, tells))
    assert ours == kafkas
    _, written, first = ours
    assert [offset for offset, *_ in written] == list(range(len(written)))
    assert first > 0
    assert {kind for _, kind, *_ in written} == {"ShareSnapshotKey", "ShareUpdateKey"}


@takes_long
def test_what_is_cold_has_one_snapshot_more_as_with_apache_kafka(tmp_path):
    def tells(coordinator: _Coordinator) -> Any:
        coordinator.asks("initialize", initialize.PartitionData(0, 0, 7))
        for colds in (1, 2):
            for offset in range(8, 12):
                coordinator.asks(
                    "write", write.PartitionData(0, 0, 0, 8, 0, [write.StateBatch(offset, offset, 0, colds)])
                )

            def cold(colds: int = colds) -> bool:
                coordinator.look()
                return sum(value[-1] for *_, value in coordinator.written) == colds

            coordinator.await_that(cold)
        coordinator.await_that(lambda: coordinator.first() == coordinator.needed())
        return coordinator.written, coordinator.first()

    settings = {**_SETTINGS, "share.coordinator.cold.partition.snapshot.interval.ms": "4000"}
    kafkas, ours = in_both(tmp_path, settings, partial(_in_a_broker, tells))
    assert ours == kafkas
