"""The same heartbeats, usual and odd, through the shorter path and through the handler: answers, groups and deadlines must be the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.handlers import usual_heartbeat
from pykbroker.requests.pipeline import Place, through
from pykbroker.tests.kit.both_ways import BothWays, OneWay, answers_of
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TOPICS: dict[str, dict[str, str]] = {"first": {}, "second": {}}
#: Led by the broker that is asked; their ids have up to 126 bytes, and more.
GROUPS = ["classic", "h" * 126, "h" * 127, "ü" * 63]
SESSION_MS = 30_000


class Twins(BothWays):
    """Both ways, with groups of one member, and the id and generation of each."""

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, TOPICS)
        self.members = {group: self.join(group) for group in GROUPS}

    def join(self, group: str) -> tuple[str, int]:
        """A first member joins, and has its assignment."""
        joined = self.tell(_join(group), 3, JoinGroupResponse)
        sync = SyncGroupRequest(group, joined.generation_id, joined.member_id)
        sync.assignments = [SyncGroupRequestAssignment(joined.member_id, b"")]
        self.tell(sync, 3)
        return joined.member_id, joined.generation_id

    def act(self) -> None:
        """One thing that happens; mostly a heartbeat."""
        rng = self.rng
        match rng.choices(["beat", "time", "second"], [40, 4, 1])[0]:
            case "beat":
                self.beat()
            case "time":
                self.advance(rng.choice([10, 1000, SESSION_MS // 3, SESSION_MS // 2]))
            case "second":  # one that joins, for whom the group waits
                for way in self.ways:
                    way.hand_in(bytes(self.frame(_join(GROUPS[0]), 3)))
        self.advance(0)

    def beat(self) -> None:
        rng = self.rng
        group = rng.choice([*GROUPS, *GROUPS, "", "other", "workers"])
        member, generation = self.members.get(group, ("", -1))
        if rng.random() < 0.2:
            member, generation = rng.choice(["", member, "m"]), generation + rng.choice([-1, 0, 1])
        version = rng.choice([0, 3, 4, 4, 4, 4])
        request = HeartbeatRequest(group, generation, member)
        if version >= 3 and rng.random() < 0.1:
            request.group_instance_id = rng.choice(["", "i"])
        if version >= 4 and rng.random() < 0.05:
            request.unknown_tagged_fields = {3: b"x"}
        self.send(self.spoil(self.frame(request, version)))

    def advance(self, ms: int) -> None:
        for way in self.ways:
            way.world.advance(ms)
            way.world.settle()


def _join(group: str) -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol("range", SUBSCRIBED_TO_T)]
    return JoinGroupRequest(group, SESSION_MS, SESSION_MS, protocol_type="consumer", protocols=protocols)


def _groups(way: OneWay) -> list[Any]:
    return [
        (name, group.state, group.generation, [each.deadline for each in group.members], group.wake_at)
        for shard in way.shards()
        for name, group in shard.groups.items()
        if isinstance(group, ClassicGroup)
    ]


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_both_paths_answer_and_keep_alike(seed: int) -> None:
    twins = Twins(Random(seed))
    for number in range(80):
        if number == 60:
            twins.flush_offsets_first()
        twins.act()
        first, second = [_groups(way) for way in twins.ways]
        assert first == second
    first, second = [way.state() for way in twins.ways]
    assert first == second


def test_the_shorter_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a member that is one, as long as nothing is around the handler."""
    taken = answers_of(usual_heartbeat, monkeypatch)
    twins = Twins(Random(1))

    def beats(group: str = "classic", version: int = 4, more: int = 0, **fields: Any) -> bool | None:
        """Whether it was answered so; None if it was not tried."""
        taken.clear()
        member, generation = twins.members.get(group, ("", -1))
        twins.tell(HeartbeatRequest(group, generation + more, member, **fields), version)
        return None if not taken else taken[0] is not None

    assert [beats(group) for group in GROUPS] == [True, True, False, True]
    assert beats("other") is False
    assert beats("workers") is False  # another broker's
    assert beats("") is False
    assert beats(more=1) is False
    assert beats(group_instance_id="i") is False
    assert beats(version=3) is None
    for way in twins.ways:  # a second member, for whom the group waits
        way.hand_in(bytes(twins.frame(_join("classic"), 3)))
    member, generation = twins.members["classic"]
    answered = twins.tell(HeartbeatRequest("classic", generation, member), 4, HeartbeatResponse)
    assert answered.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert taken[-1] is not None
    places = twins.ways[0].world.dispatcher.places
    places.fill(Place.OBSERVE, through(lambda broker, ctx, request, proceed: proceed()))
    assert beats() is None


def test_it_waits_for_what_is_not_committed_yet() -> None:
    """As through the handler: the group may not have been what the answer says, if the disk is lost."""
    twins = Twins(Random(1))
    twins.flush_offsets_first()
    joined = twins.tell(_join("new"), 3, JoinGroupResponse)
    sync = SyncGroupRequest("new", joined.generation_id, joined.member_id)
    sync.assignments = [SyncGroupRequestAssignment(joined.member_id, b"")]
    frames = [twins.frame(sync, 3), twins.frame(HeartbeatRequest("new", joined.generation_id, joined.member_id), 4)]
    answers = []
    for way in twins.ways:
        waiting = [way.hand_in(bytes(frame)) for frame in frames]
        assert [each.done for each in waiting] == [False, False]
        way.world.settle()
        answers.append([b"".join(each.value) for each in waiting])
    assert answers[0] == answers[1]


def test_a_heartbeat_restarts_the_session() -> None:
    """A member that says that it is alive stays for longer than a session; one that is silent goes."""
    twins = Twins(Random(1))
    member, generation = twins.members["classic"]
    alive = HeartbeatRequest("classic", generation, member)
    for _ in range(3):
        twins.advance(SESSION_MS - 1000)
        assert twins.tell(alive, 4, HeartbeatResponse).error_code == 0
    twins.advance(SESSION_MS)
    assert twins.tell(alive, 4, HeartbeatResponse).error_code == ErrorCode.UNKNOWN_MEMBER_ID
