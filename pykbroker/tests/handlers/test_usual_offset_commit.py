"""The same commits, usual and odd, through the shorter path and through the handler: answers, files and state must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.coordination.groups.records import decode
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers import usual_offset_commit
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.requests.pipeline import Place, through
from pykbroker.tests.kit.both_ways import BothWays, answers_of
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pykbroker.wire.records import decode_records

TOPICS: dict[str, dict[str, str]] = {"first": {}, "second": {}}
NAMES = [*TOPICS, "first", "first", "absent"]
VERSIONS = (2, 5, 7, 8, 8, 8, 9, 9, 9, 10, 10)
BARE, CLASSIC, CONSUMER = "bare", "classic", "consumer"
METADATA = ("", "", "", None, "m", "é" * 40, "x" * 125, "x" * 126, "x" * 127, "x" * 300, "x" * 5000, "é" * 2100)


class Twins(BothWays):
    """Both ways, with a group of each protocol and one without members."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, TOPICS, offset_metadata_max_bytes=rng.choice(["4096", "100"]))
        #: The member of each group, and its generation or epoch.
        self.members = {BARE: ("", -1), CLASSIC: self._classic(), CONSUMER: self._consumer()}

    def _classic(self) -> tuple[str, int]:
        join = JoinGroupRequest(CLASSIC, 30_000, 30_000, protocol_type="consumer")
        join.protocols = [JoinGroupRequestProtocol("range", SUBSCRIBED_TO_T)]
        joined = self.tell(join, 3, JoinGroupResponse)
        sync = SyncGroupRequest(CLASSIC, joined.generation_id, joined.member_id)
        sync.assignments = [SyncGroupRequestAssignment(joined.member_id, b"")]
        self.tell(sync, 3)
        return joined.member_id, joined.generation_id

    def _consumer(self) -> tuple[str, int]:
        beat = ConsumerGroupHeartbeatRequest(CONSUMER, "member", 0, rebalance_timeout_ms=30_000)
        beat.subscribed_topic_names, beat.topic_partitions = ["first"], []
        return "member", self.tell(beat, 1, ConsumerGroupHeartbeatResponse).member_epoch

    def commit(self, versions: Sequence[int] = VERSIONS) -> bytes:
        """A frame with a commit, mostly a usual one."""
        rng = self.rng
        group = rng.choice([BARE, CLASSIC, CONSUMER, "new", ""])
        member, epoch = self.members.get(group, ("", -1))
        if rng.random() < 0.2:
            member, epoch = rng.choice(["", member, "other"]), rng.choice([-1, epoch - 1, epoch, epoch + 1])
        version = rng.choice(versions)

        def part() -> OffsetCommitRequestPartition:
            offset, leader_epoch = rng.choice([-1, 0, rng.randrange(2**62)]), rng.choice([-1, 0, 5])
            found = OffsetCommitRequestPartition(
                rng.choice([0, 0, 1, 1, 2, -1]), offset, leader_epoch, rng.choice(METADATA)
            )
            if version >= 8 and rng.random() < 0.02:
                found.unknown_tagged_fields = {3: b"x"}
            return found

        topics = []
        for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
            topic = OffsetCommitRequestTopic(partitions=[part() for _ in range(rng.choice([0, 1, 2, 3, 6, 201]))])
            name = rng.choice(NAMES)
            if version < 10:
                topic.name = name
            else:
                found = self.ways[0].world.image.topics.get(name)
                topic.topic_id = b"n" * 16 if found is None else found.id
            topics.append(topic)
        request = OffsetCommitRequest(group, epoch, member, topics=topics)
        request.group_instance_id = "i" if version >= 7 and rng.random() < 0.1 else None
        request.retention_time_ms = rng.choice([-1, 0, 1000, 2**62]) if version < 5 else -1
        return self.spoil(self.frame(request, version))

    def committed(self) -> list[Any]:
        return [[list(shard.committed.offsets) for shard in way.shards()] for way in self.ways]

    def state(self) -> list[Any]:
        return [(way.state(), found) for way, found in zip(self.ways, self.committed(), strict=True)]


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_both_paths_answer_and_write_alike(seed: int) -> None:
    twins = Twins(Random(seed))
    for number in range(80):
        if number == 50:
            twins.flush_offsets_first()
        if number == 70:
            twins.tell(DeleteTopicsRequest([DeleteTopicState("second")], timeout_ms=1000), 6)
        twins.send(twins.commit())
    first, second = twins.state()
    assert first == second


@settings(deadline=None, max_examples=examples(10))
@given(st.integers(0, 2**32))
def test_both_paths_refuse_alike_on_a_full_disk(seed: int) -> None:
    """A commit that cannot be appended is in no coordinator's memory, and those before it stay; with room again, commits go on."""
    twins = Twins(Random(seed))
    for _ in range(20):
        twins.send(twins.commit())
    before = twins.committed()
    first, second = twins.ways
    with first.world.full_disk(), second.world.full_disk():
        for _ in range(20):
            twins.send(twins.commit())
        assert twins.committed() == before
    for _ in range(20):
        twins.send(twins.commit())
    plain = OffsetCommitRequest(BARE, -1, "", topics=[OffsetCommitRequestTopic("first")])
    plain.topics[0].partitions = [OffsetCommitRequestPartition(0, 1234)]
    answered = twins.tell(plain, 9, OffsetCommitResponse)
    assert answered.topics[0].partitions[0].error_code == 0
    assert twins.committed()[0] == twins.committed()[1]


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_what_is_in_the_log_is_what_is_committed(seed: int) -> None:
    """The records that one commit leaves are read again one by one; those with an expiry of their own, of versions before 5, have no
    topic id in the log.
    """
    twins = Twins(Random(seed))
    for _ in range(40):
        twins.send(twins.commit([each for each in VERSIONS if each >= 5]))
    for way in twins.ways:
        for index, loaded in way.world.broker.groups.shards.loaded.items():
            again = GroupShard(loaded.shard.around)
            log = way.world.partition(CONSUMER_OFFSETS, index).log
            for segment in log.segments:
                for _, header, batch in segment.batches():
                    for record in decode_records(batch, header=header):
                        again.replay(decode(record.key or b"", record.value))
            assert list(again.committed.offsets) == list(loaded.shard.committed.offsets)
            assert again.committed.count == loaded.shard.committed.count
            assert list(again.groups) == list(loaded.shard.groups)


def test_the_shorter_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a usual request, as long as nothing is around the handler; an odd one is left to the handler."""
    taken = answers_of(usual_offset_commit, monkeypatch)
    twins = Twins(Random(1))

    def commit(group: str = BARE, topic: str = "first", epoch: int | None = None) -> bool | None:
        """Whether it was answered so; None if it was not tried."""
        taken.clear()
        member, current = twins.members.get(group, ("", -1))
        request = OffsetCommitRequest(group, current if epoch is None else epoch, member)
        request.topics = [OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 7)])]
        twins.tell(request, 9)
        return None if not taken else type(taken[0]) is list

    assert commit()
    assert commit(CLASSIC)
    assert commit(CONSUMER)
    assert commit(topic="absent") is False
    assert commit(CLASSIC, epoch=9) is False
    twins.flush_offsets_first()
    assert commit() is False
    assert type(taken[0]) is tuple
    places = twins.ways[0].world.dispatcher.places
    places.fill(Place.OBSERVE, through(lambda broker, ctx, request, proceed: proceed()))
    assert commit() is None
