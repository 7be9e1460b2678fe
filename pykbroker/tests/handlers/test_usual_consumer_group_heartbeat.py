"""The same heartbeats, usual and odd, through the shorter path and through the handler: answers, groups and deadlines must be the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.handlers import usual_consumer_group_heartbeat
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.requests.pipeline import Place, through
from pykbroker.tests.kit.both_ways import BothWays, OneWay, answers_of
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.headers import decode_response_header
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

TOPICS: dict[str, dict[str, str]] = {"first": {}, "second": {}}
#: Led by the broker that is asked, but for the last; their ids have up to 126 bytes, and more.
GROUPS = ["consumer", "other", "h" * 126, "h" * 127, "ü" * 63, "workers"]
MEMBERS = ["one", "two", "m" * 126, "m" * 127, "ü" * 63, "ü" * 64]
SESSION_MS = 45_000


class Twins(BothWays):
    """Both ways, with members of groups of the consumer protocol, and what the last answer to each said."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, TOPICS)
        self.known: dict[tuple[str, str], ConsumerGroupHeartbeatResponse] = {}

    def act(self) -> None:
        """One thing that happens."""
        rng = self.rng
        match rng.choices(["beat", "full", "join", "leave", "time", "setting", "commit"], [40, 16, 8, 1, 4, 2, 1])[0]:
            case "beat":
                self.beat(self.bare())
            case "full":
                self.beat(self.full())
            case "join":
                topics = rng.choice([["first"], ["first", "second"], ["absent"]])
                self.join(rng.choice(GROUPS), rng.choice(MEMBERS), topics, oddly=True)
            case "leave":
                self.beat(ConsumerGroupHeartbeatRequest(*self.some(), member_epoch=-1))
            case "time":
                self.advance(rng.choice([10, 10, 1000, 3000, SESSION_MS // 2]))
            case "setting":
                name = rng.choice(["consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"])
                value = rng.choice(["5000", "7000"]) if "heartbeat" in name else rng.choice(["45000", "50000"])
                self.set_config(GROUP_RESOURCE, rng.choice(GROUPS), name, value)
            case "commit":
                topic = OffsetCommitRequestTopic("first", partitions=[OffsetCommitRequestPartition(0, 1)])
                self.tell(OffsetCommitRequest(rng.choice([*GROUPS, "bare"]), -1, "", topics=[topic]), 9)
        self.advance(0)

    def some(self) -> tuple[str, str]:
        rng = self.rng
        if self.known and rng.random() < 0.95:
            return rng.choice([*self.known])
        return rng.choice([*GROUPS, "", "bare"]), rng.choice([*MEMBERS, "", " "])

    def bare(self) -> ConsumerGroupHeartbeatRequest:
        """Of a member that mostly has nothing to say."""
        rng, (group, member) = self.rng, self.some()
        epoch = self.known[group, member].member_epoch if (group, member) in self.known else 1
        request = ConsumerGroupHeartbeatRequest(group, member, epoch + rng.choices([0, -1, 1, -2], [40, 1, 1, 1])[0])
        request.rebalance_timeout_ms = rng.choice([-1, -1, -1, -1, -1, 30_000, 30_000, 40_000])
        match rng.randrange(60):
            case 0:
                request.instance_id = rng.choice(["", "i"])
            case 1:
                request.rack_id = "r"
            case 2:
                request.server_assignor = rng.choice(["uniform", "range", "none"])
            case 3:
                request.topic_partitions = []
            case 4:
                request.subscribed_topic_names = rng.choice([[], ["first"]])
            case 5:
                request.unknown_tagged_fields = {3: b"x"}
        return request

    def full(self) -> ConsumerGroupHeartbeatRequest:
        """Of a member that reports what it was given, so that its group goes on."""
        request = self.bare()
        found = self.known.get((request.group_id, request.member_id))
        given = [] if found is None or found.assignment is None else found.assignment.topic_partitions
        request.topic_partitions = [TopicPartitions(each.topic_id, each.partitions) for each in given]
        return request

    def join(self, group: str, member: str, topics: list[str], *, oddly: bool = False) -> None:
        self.beat(
            ConsumerGroupHeartbeatRequest(
                *(group, member, 0), rebalance_timeout_ms=30_000, subscribed_topic_names=topics, topic_partitions=[]
            ),
            oddly=oddly,
        )

    def beat(self, request: ConsumerGroupHeartbeatRequest, *, oddly: bool = True) -> None:
        rng, key = self.rng, (request.group_id, request.member_id)
        version, client_id = 1, "client"
        if oddly:
            version, client_id = rng.choice([0, 1, 1]), rng.choices(["client", None, "other"], [60, 1, 1])[0]
        whole = self.frame(request, version, client_id)
        frame = self.spoil(whole.copy()) if oddly and rng.random() < 0.4 else bytes(whole)
        answer = self.send(frame)
        if frame != whole or not isinstance(answer, bytes):
            return
        _, start = decode_response_header(answer, 4, request.API_KEY, version)
        found, _ = ConsumerGroupHeartbeatResponse.decode(answer, start, version)
        if found.error_code or request.member_epoch < 0:
            self.known.pop(key, None)
            return
        if found.assignment is None and key in self.known:
            found.assignment = self.known[key].assignment
        self.known[key] = found

    def advance(self, ms: int) -> None:
        for way in self.ways:
            way.world.advance(ms)
            way.world.settle()

    def state(self) -> list[Any]:
        return [(way.state(), [*_groups(way)]) for way in self.ways]


def _groups(way: OneWay) -> list[Any]:
    return [
        (name, group.epoch, group.target_epoch, group.members, group.deadlines.wake_at, group.deadlines._watched)
        for shard in way.shards()
        for name, group in shard.groups.items()
        if isinstance(group, ConsumerGroup)
    ]


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_both_paths_answer_and_keep_alike(seed: int) -> None:
    twins = Twins(Random(seed))
    for group in GROUPS[:5]:
        twins.join(group, twins.rng.choice(MEMBERS), ["first"])
    for number in range(80):
        if number == 60:
            twins.flush_offsets_first()
        twins.act()
        first, second = [_groups(way) for way in twins.ways]
        assert first == second
    first, second = twins.state()
    assert first == second


def test_the_shorter_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a member that says that it is alive and nothing else, as long as nothing is around the handler."""
    taken = answers_of(usual_consumer_group_heartbeat, monkeypatch)
    twins = Twins(Random(1))
    for _ in range(3):
        twins.join("consumer", "one", ["first"])
    member = twins.known["consumer", "one"]

    def beats(epoch: int = member.member_epoch, member_id: str = "one", **more: Any) -> bool | None:
        """Whether it was answered so; None if it was not tried."""
        taken.clear()
        request = ConsumerGroupHeartbeatRequest("consumer", member_id, epoch, **more)
        twins.tell(request, 1)
        return None if not taken else taken[0] is not None

    assert beats()
    assert beats(rebalance_timeout_ms=30_000)
    assert beats(rebalance_timeout_ms=31_000) is False
    assert beats(rebalance_timeout_ms=30_000) is False
    assert beats(rebalance_timeout_ms=30_000)
    for field in ("instance_id", "rack_id", "server_assignor", "subscribed_topic_regex"):
        assert beats(**{field: ""}) is False
    assert beats(topic_partitions=[]) is False
    assert beats(subscribed_topic_names=["first"]) is False
    assert beats()
    assert beats(member.member_epoch + 1) is False
    assert beats(member_id="two") is False
    places = twins.ways[0].world.dispatcher.places
    places.fill(Place.OBSERVE, through(lambda broker, ctx, request, proceed: proceed()))
    assert beats() is None


def test_a_heartbeat_restarts_the_session() -> None:
    """A member that says nothing but that it is alive stays for longer than a session; one that is silent goes."""
    twins = Twins(Random(1))
    twins.join("consumer", "one", ["first"])
    alive = ConsumerGroupHeartbeatRequest("consumer", "one", twins.known["consumer", "one"].member_epoch)
    for _ in range(3):
        twins.advance(SESSION_MS - 1000)
        assert twins.tell(alive, 1, ConsumerGroupHeartbeatResponse).error_code == 0
    twins.advance(SESSION_MS)
    assert twins.tell(alive, 1, ConsumerGroupHeartbeatResponse).error_code == ErrorCode.UNKNOWN_MEMBER_ID
