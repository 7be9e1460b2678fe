"""Apache Kafka and pykbroker take turns on one log directory with a share group in the middle of its work, over stops and kills.

In each turn the group's member gets exactly what is neither accepted nor given up, with the number of deliveries that the broker before has
kept, says something of most of it, and leaves the rest acquired. Each record that was given up has one letter, whoever wrote it.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing

import pytest

from compat_tests.conftest import LONG
from compat_tests.directories.client import NOT_YET, Client
from compat_tests.directories.files import faults
from compat_tests.directories.log_directories import SharedLogDirectories
from compat_tests.directories.new_groups import joined
from compat_tests.directories.picture import records
from compat_tests.harness.awaiting import LIMIT_S
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pykbroker.wire.records import Record, encode_batch

_TOPIC, _LETTERS, _GROUP, _MEMBER, _LIMIT = "jobs", "dlq.jobs", "work", "uR7tYpZlQ4yXhQx3m1oF1g", 3
_GROUP_RESOURCE, _LAST = 32, -1
_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
    "share.coordinator.state.topic.num.partitions": "3",
}
#: Who serves in each turn, and how that ends; the first four turns, with PYKBROKER_LONG all.
_LIVES = {
    "kafka's": ["kafka kill", "ours kill", "kafka stop", "ours stop", "kafka kill", "ours kill", "kafka stop"],
    "ours": ["ours kill", "kafka kill", "ours stop", "kafka stop", "ours stop"],
}
_TURNS = None if LONG else 4


class _Work:
    """What is known of the group's records, whoever serves it."""

    def __init__(self) -> None:
        #: The deliveries so far of each record that is still to be done.
        self.open: dict[int, int] = {}
        self.given_up: set[int] = set()
        self._produced = 0
        self._session = 0
        self._topic_id = b""

    def begin(self, client: Client) -> None:
        client.create(_TOPIC)
        client.create(_LETTERS, errors_deadletterqueue_group_enable="true")
        configs: dict[str, str | None] = {
            "share.auto.offset.reset": "earliest",
            "share.delivery.count.limit": str(_LIMIT),
            "errors.deadletterqueue.topic.name": _LETTERS,
            "errors.deadletterqueue.copy.record.enable": "true",
        }
        client.alter(_GROUP_RESOURCE, _GROUP, configs)

    def turn(self, client: Client, way: str) -> None:
        """One broker's share."""
        for size in (1, 5, 6):
            client.produce(_TOPIC, encode_batch([Record(value=b"%d" % number) for number in range(size)]))
            self.open |= dict.fromkeys(range(self._produced, self._produced + size), 0)
            self._produced += size
        self._join(client)
        wanted = {offset: count + 1 for offset, count in self.open.items()}
        assert self._acquire(client) == wanted
        self.open = wanted
        for offset in list(wanted):
            kind = (Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT, None)[offset % 4]
            if kind is not None:
                self._acknowledge(client, offset, kind)
        if way == "stop":  # what is left is released: the session ends
            self._fetch(client, _LAST)
            for offset in [each for each in self.open if each % 4 == 3]:
                self._released(offset)
        else:  # what is only acquired is not kept
            self.open |= {offset: count - 1 for offset, count in self.open.items() if offset % 4 == 3}
        found = client.until(lambda _: len(records(client, _LETTERS)) >= len(self.given_up), MetadataRequest(None), 12)
        letters = Counter(int(dict(each.headers)["__dlq.errors.offset"] or b"") for each in records(client, _LETTERS))
        assert letters == Counter(self.given_up), found

    def _join(self, client: Client) -> None:
        requested = MetadataRequest([MetadataRequestTopic(name=_TOPIC)], False)
        self._topic_id = client.ask(requested, 12).topics[0].topic_id
        joined(client, ShareGroupHeartbeatRequest(_GROUP, _MEMBER, 0, None, [_TOPIC]), 1)

    def _acquire(self, client: Client) -> dict[int, int]:
        """All that there is, by and by: the number of each one's delivery. A broker that has just started has none before it has read
        the group's state.
        """
        found: dict[int, int] = {}
        deadline = time.monotonic() + LIMIT_S
        self._session = 0
        while True:
            part = self._fetch(client, self._session)
            self._session += 1
            if part is not None and part.error_code:
                assert part.error_code in NOT_YET, part
                continue
            acquired = [] if part is None else part.acquired_records
            if not acquired and (found.keys() >= self.open.keys() or time.monotonic() > deadline):
                return found
            for each in acquired:
                found |= dict.fromkeys(range(each.first_offset, each.last_offset + 1), each.delivery_count)

    def _fetch(self, client: Client, epoch: int):
        topics = [FetchTopic(self._topic_id, [FetchPartition(0)])] if epoch == 0 else []
        requested = ShareFetchRequest(
            _GROUP, _MEMBER, epoch, max_wait_ms=1000, min_bytes=1, max_bytes=1 << 20, max_records=500, batch_size=500
        )
        requested.topics = topics
        if epoch == _LAST:
            requested.max_wait_ms = requested.min_bytes = requested.max_bytes = requested.max_records = 0
        answer = client.ask(requested, 2)
        assert answer.error_code == 0, answer
        return answer.responses[0].partitions[0] if answer.responses else None

    def _acknowledge(self, client: Client, offset: int, kind: Acknowledge) -> None:
        said = AcknowledgePartition(0, [AcknowledgementBatch(offset, offset, [kind])])
        request = ShareAcknowledgeRequest(_GROUP, _MEMBER, self._session)
        request.topics = [AcknowledgeTopic(self._topic_id, [said])]
        answer = client.ask(request, 2)
        self._session += 1
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0), answer
        if kind is Acknowledge.RELEASE:
            self._released(offset)
            return
        del self.open[offset]
        if kind is Acknowledge.REJECT:
            self.given_up.add(offset)

    def _released(self, offset: int) -> None:
        if self.open[offset] == _LIMIT:
            del self.open[offset]
            self.given_up.add(offset)


def _start_offset(client: Client) -> int:
    client.coordinated(_GROUP)
    requested = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(_GROUP, None)])
    answer = client.until(lambda found: found.groups[0].error_code not in NOT_YET, requested, 1)
    part = answer.groups[0].topics[0].partitions[0]
    assert part.error_code == 0, answer
    return int(part.start_offset)


@pytest.mark.parametrize("turns", _LIVES.values(), ids=_LIVES)
def test_a_share_group_goes_on_where_it_was(turns, tmp_path, kafka_tools):
    directories = SharedLogDirectories(tmp_path, settings=_SETTINGS)
    work, start = _Work(), 0
    try:
        for number, (who, way) in enumerate(map(str.split, turns[:_TURNS])):
            directories.start(who)
            with closing(Client(directories.bootstrap)) as client:
                client.served()
                if number == 0:
                    work.begin(client)
                else:
                    assert start <= _start_offset(client) <= min(work.open), f"turn {number}, {who}"
                work.turn(client, way)
                start = _start_offset(client)
                assert start <= min(work.open), f"turn {number}, {who}"  # it is persisted with what comes next
                directories.end(way)  # before the member's connection ends
            if way == "stop":
                assert faults(kafka_tools, directories) == [], f"turn {number}, {who}"
    finally:
        directories.end("kill")
