"""Our server-side assignors against Kafka's own classes: hundreds of groups, every answer equal.

A group lives through joins, leaves, changed subscriptions and new partitions, and each assignment is the next one's
target so far. Kafka's uniform assignor takes the topics of a homogeneous group in the order of a Java hash table; the
ids of these groups are such that this order is the ascending one, so even there nothing is left to chance.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from compat_tests.harness.java import compile_java, java_command
from pykbroker.coordination.groups.assignors import ASSIGNORS
from pykbroker.coordination.groups.assignors.spec import AssignmentFailed, GroupSpec, MemberSpec, Uuid, uuid_order
from pykbroker.wire.primitives import uuid_to_str

SEEDS = 150
STEPS = 8


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("same_topics", [True, False], ids=["same topics", "mixed topics"])
def test_random_groups(assignor, same_topics):
    specs = [spec for seed in range(SEEDS) for spec in _life(random.Random(seed), assignor, same_topics)]
    ours = [_assigned(assignor, spec) for spec in specs]
    for spec, our, their in zip(specs, ours, _kafkas(assignor, specs), strict=True):
        assert our == their, spec
    assert sum(any(each.values()) for each in ours) > len(specs) / 2  # most groups have something to divide


def test_a_large_group():
    source = random.Random(1)
    topics = _topics(source, 40, in_hash_order=False)
    spec = GroupSpec({}, {topic: source.randrange(1, 200) for topic in topics})
    for number in range(1000):
        spec.members[f"m{number}"] = MemberSpec(frozenset(source.sample(topics, source.randrange(1, 12))))
    for assignor in ASSIGNORS:
        assert _kafkas(assignor, [spec]) == [_assigned(assignor, spec)]


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("same_topics", [True, False], ids=["same topics", "mixed topics"])
def test_a_topic_that_does_not_exist(assignor, same_topics):
    there, missing = _topics(random.Random(2), 2, in_hash_order=True)
    first = frozenset({missing}) if same_topics else frozenset({there})
    spec = GroupSpec({"a": MemberSpec(first), "b": MemberSpec(frozenset({missing}))}, {there: 3})
    assert _kafkas(assignor, [spec]) == [_assigned(assignor, spec)]


def test_members_in_the_order_of_javas_texts():
    topic = _topics(random.Random(3), 1, in_hash_order=True)[0]
    ids = ["￮", "\U0001f600", "", "b", "B", "ab", "a", "é"]
    members = {each: MemberSpec(frozenset({topic})) for each in ids}
    members |= {f"m{index}": MemberSpec(frozenset({topic}), instance_id=f"i{each}") for index, each in enumerate(ids)}
    spec = GroupSpec(members, {topic: 9})
    assert _kafkas("range", [spec]) == [_assigned("range", spec)]


# Groups ---------------------------------------------------------------------------------------------------------------


def _life(source: random.Random, assignor: str, same_topics: bool) -> Iterator[GroupSpec]:
    """The states of one group in which it is assigned anew."""
    topics = _topics(source, source.randrange(1, 12), in_hash_order=same_topics)
    partitions = {topic: source.choice([1, 1, 2, 3, 5, 8, 13, 40]) for topic in topics}
    members: dict[str, MemberSpec] = {}
    common = frozenset(source.sample(topics, source.randrange(1, len(topics) + 1)))
    for _ in range(STEPS):
        for _ in range(source.randrange(4)):
            instance_id = source.choice([None, None, f"i{source.randrange(1000)}"])
            members[f"m{source.randrange(10000)}"] = MemberSpec(_subscription(source, topics), instance_id=instance_id)
        for member_id in source.sample(sorted(members), source.randrange(min(3, len(members) + 1))):
            del members[member_id]
        for topic in source.sample(topics, source.randrange(2)):
            partitions[topic] += source.randrange(3)
        for member in members.values():
            if source.random() < 0.2:
                member.subscribed = _subscription(source, topics)
        if source.random() < 0.3:
            common = _subscription(source, topics) or common
        shuffled = source.sample(sorted(members), len(members))
        if same_topics:
            for member in members.values():
                member.subscribed = common
        spec = GroupSpec({each: members[each] for each in shuffled}, dict(partitions))
        if spec.same_topics() == same_topics:  # a mixed group that is none by chance follows the order of hashes
            yield deepcopy(spec)
        for member_id, assignment in ASSIGNORS[assignor](spec).items():
            members[member_id].assigned = {topic: frozenset(each) for topic, each in assignment.items()}


def _subscription(source: random.Random, topics: list[Uuid]) -> frozenset[Uuid]:
    return frozenset(source.sample(topics, source.randrange(len(topics) + 1)))


def _topics(source: random.Random, count: int, *, in_hash_order: bool) -> list[Uuid]:
    """Ids of topics. A Java hash table holds few small numbers in ascending order; 0 and 1 are reserved ids."""
    if in_hash_order:
        return [(number + 2).to_bytes(16) for number in range(count)]
    return [source.randbytes(16) for _ in range(count)]


# Asking ---------------------------------------------------------------------------------------------------------------


def _assigned(assignor: str, spec: GroupSpec) -> dict | str:
    """Our answer, or the message of our refusal."""
    try:
        answer = ASSIGNORS[assignor](spec)
    except AssignmentFailed as failed:
        return str(failed)
    return {
        member_id: {uuid_to_str(topic): list(partitions) for topic, partitions in assignment.items()}
        for member_id, assignment in answer.items()
    }


def _kafkas(assignor: str, specs: list[GroupSpec]) -> list[dict | str]:
    """Kafka's answers."""
    classes = compile_java([Path(__file__).with_name("ServerAssignors.java")], "kafka")
    command = java_command("ServerAssignors", "kafka", classes=classes, flags=["-Dfile.encoding=UTF-8"])
    lines = "".join(json.dumps({"assignor": assignor, **_json(spec)}) + "\n" for spec in specs)
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _json(spec: GroupSpec) -> dict:
    members = {
        member_id: {
            "subscribed": [uuid_to_str(topic) for topic in sorted(member.subscribed, key=uuid_order)],
            "assigned": {
                uuid_to_str(topic): sorted(member.assigned[topic]) for topic in sorted(member.assigned, key=uuid_order)
            },
            "instance_id": member.instance_id,
        }
        for member_id, member in spec.members.items()
    }
    return {"members": members, "partitions": {uuid_to_str(topic): count for topic, count in spec.partitions.items()}}
