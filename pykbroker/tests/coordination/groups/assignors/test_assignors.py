"""What every assignor promises, whatever the group: validity, balance, stickiness, and work that stays small."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.groups.assignors import ASSIGNORS
from pykbroker.coordination.groups.assignors.spec import Assignment, AssignmentFailed, GroupSpec, MemberSpec, Uuid

TOPICS = [bytes([high]) + bytes(14) + bytes([low]) for high in (0x00, 0xF0) for low in (2, 3, 4)]
subscriptions = st.frozensets(st.sampled_from(TOPICS), max_size=4)
sizes = st.fixed_dictionaries({topic: st.integers(1, 9) for topic in TOPICS})


@st.composite
def groups(draw: st.DrawFn) -> GroupSpec:
    """Groups in which some partitions have owners, each at most one; some owners no longer want theirs."""
    partitions = draw(sizes)
    common = draw(st.none() | subscriptions)
    spec = GroupSpec({}, partitions)
    for number in range(draw(st.integers(0, 8))):
        instance_id = draw(st.sampled_from([None, f"i{-number}"]))
        spec.members[f"m{number}"] = MemberSpec(
            draw(subscriptions) if common is None else common, instance_id=instance_id
        )
    for topic, count in partitions.items() if spec.members else ():
        for partition in range(count):
            owner = draw(st.none() | st.sampled_from(sorted(spec.members)))
            if owner is not None:
                held = spec.members[owner].assigned
                held[topic] = held.get(topic, frozenset()) | {partition}
    return spec


def the_next(spec: GroupSpec, assignments: dict[str, Assignment]) -> GroupSpec:
    """The group with these assignments as its target."""
    members = {
        member_id: MemberSpec(
            member.subscribed,
            {topic: frozenset(each) for topic, each in assignments[member_id].items()},
            member.instance_id,
        )
        for member_id, member in spec.members.items()
    }
    return GroupSpec(members, spec.partitions)


def loads(assignments: dict[str, Assignment]) -> dict[str, int]:
    return {member_id: sum(map(len, each.values())) for member_id, each in assignments.items()}


@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_has_one_owner_who_wants_it(spec, assignor):
    before = repr(spec)
    assignments = ASSIGNORS[assignor](spec)
    assert repr(spec) == before
    assert assignments.keys() == spec.members.keys()
    owned: Counter[tuple[Uuid, int]] = Counter()
    for member_id, assignment in assignments.items():
        assert assignment.keys() <= spec.members[member_id].subscribed
        for topic, partitions in assignment.items():
            assert partitions
            assert list(partitions) == sorted(set(partitions))
            owned.update((topic, partition) for partition in partitions)
    wanted = {topic for member in spec.members.values() for topic in member.subscribed}
    assert owned == {(topic, each): 1 for topic in wanted for each in range(spec.partitions[topic])}


@given(groups())
def test_uniform_loads_are_even(spec):
    assignments = ASSIGNORS["uniform"](spec)
    load = loads(assignments)
    if spec.same_topics():
        assert max(load.values(), default=0) - min(load.values(), default=0) <= 1
        return
    for topic in TOPICS:  # no single move from one subscriber to another would help
        subscribers = [each for each, member in spec.members.items() if topic in member.subscribed]
        givers = [load[each] for each in subscribers if topic in assignments[each]]
        assert not givers or max(givers) - min(load[each] for each in subscribers) <= 1


@given(groups(), st.sampled_from(sorted(ASSIGNORS)))
def test_nothing_moves_when_nothing_changed(spec, assignor):
    first = ASSIGNORS[assignor](spec)
    assert ASSIGNORS[assignor](the_next(spec, first)) == first


@given(groups())
def test_uniform_keeps_a_full_share_of_what_a_member_had(spec):
    if not spec.same_topics():
        return
    assignments = ASSIGNORS["uniform"](spec)
    for member_id, member in spec.members.items():
        had = {(topic, each) for topic in member.subscribed for each in member.assigned.get(topic, ())}
        has = {(topic, each) for topic, partitions in assignments[member_id].items() for each in partitions}
        assert len(had & has) >= min(len(had), len(has) - (len(has) > len(had)))
        assert had <= has or has <= had


@given(groups())
def test_range_gives_each_subscriber_a_run(spec):
    assignments = ASSIGNORS["range"](spec)
    for topic in TOPICS:
        subscribers = [each for each, member in spec.members.items() if topic in member.subscribed]
        runs = [assignments[each].get(topic, ()) for each in subscribers]
        assert all(run == tuple(range(run[0], run[-1] + 1)) for run in runs if run)
        assert max(map(len, runs), default=0) - min(map(len, runs), default=0) <= 1


def test_range_static_members_come_first():
    topic = TOPICS[0]
    members = {
        "a": MemberSpec(frozenset({topic})),
        "b": MemberSpec(frozenset({topic}), instance_id="2"),
        "c": MemberSpec(frozenset({topic}), instance_id="1"),
    }
    assert ASSIGNORS["range"](GroupSpec(members, {topic: 3})) == {
        "c": {topic: (0,)},
        "b": {topic: (1,)},
        "a": {topic: (2,)},
    }


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_topic_that_does_not_exist(assignor):
    with pytest.raises(AssignmentFailed):
        ASSIGNORS[assignor](GroupSpec({"a": MemberSpec(frozenset({TOPICS[0]}))}, {}))


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("same_topics", [True, False])
def test_thousands_of_members_and_partitions(assignor, same_topics):
    topics = [number.to_bytes(16) for number in range(2, 102)]
    spec = GroupSpec({}, dict.fromkeys(topics, 100))
    for number in range(4000):
        subscribed = topics if same_topics else topics[number % 91 : number % 91 + 10]
        spec.members[f"m{number:04}"] = MemberSpec(frozenset(subscribed))
    first = ASSIGNORS[assignor](spec)
    assert sum(loads(first).values()) == 10_000
    again = the_next(spec, first)
    for number in range(0, 4000, 4):
        del again.members[f"m{number:04}"]
    second = ASSIGNORS[assignor](again)
    assert sum(loads(second).values()) == 10_000
    if assignor == "uniform" and same_topics:
        assert all(
            set(first[each].get(topic, ())) <= set(second[each].get(topic, ())) for each in second for topic in topics
        )
