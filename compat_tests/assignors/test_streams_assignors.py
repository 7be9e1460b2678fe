"""The sticky assignor of streams groups against Kafka's class: hundreds of groups, every member's tasks equal.

A group lives through members that join and leave, processes with several threads, new partitions and lost state; each assignment is what
the members have before the next one. Kafka's class is told, too, what 4.4.0 makes nothing of: racks, tags of clients, warm-up tasks, ends of
changelogs and names of static members.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from compat_tests.harness.java import compile_java, java_command
from pykbroker.coordination.groups.streams.sticky import (
    TaskAssignmentFailed,
    TaskGroupSpec,
    TaskMemberSpec,
    assign_sticky,
)
from pykbroker.coordination.groups.streams.tasks import Task, TaskTuple, by_subtopology

SEEDS = 60
STEPS = 8


def test_random_groups() -> None:
    specs = [spec for seed in range(SEEDS) for spec in _life(random.Random(seed))]
    ours = [_assigned(spec) for spec in specs]
    for spec, our, their in zip(specs, ours, _kafkas(specs), strict=True):
        assert our == their, spec
    assert sum(any(given[1] for given in each.values()) for each in ours if isinstance(each, dict)) > len(specs) / 4


def test_nobody_is_there() -> None:
    specs = [TaskGroupSpec({}, {"0": 1}), TaskGroupSpec({}, {})]
    assert _kafkas(specs) == [_assigned(spec) for spec in specs]


def _life(source: random.Random) -> Iterator[TaskGroupSpec]:
    """The states of one group in which it is assigned anew."""
    tasks = {str(number): source.choice([1, 2, 3, 5, 8, 20]) for number in range(source.randrange(1, 14))}
    stateful = frozenset(source.sample(sorted(tasks), source.randrange(len(tasks) + 1)))
    members: dict[str, TaskMemberSpec] = {}
    standbys = source.randrange(3)
    for _ in range(STEPS):
        for _ in range(source.randrange(4)):
            member_id = f"{source.getrandbits(64):x}"
            members[member_id] = TaskMemberSpec(f"process-{source.randrange(6)}")
        for member_id in source.sample(sorted(members), source.randrange(min(3, len(members) + 1))):
            del members[member_id]
        tasks = {each: count + (source.random() < 0.05) for each, count in tasks.items()}
        for member in members.values():
            reported = [task for task in _all(tasks) if task[0] in stateful and source.random() < 0.2]
            member.offsets = {task: source.randrange(4) for task in reported}
            if source.random() < 0.1:  # it comes back with nothing
                member.active, member.standby = frozenset(), frozenset()
        if source.random() < 0.1:
            standbys = source.randrange(3)
        kept = {
            each: TaskMemberSpec(member.process_id, member.active, member.standby, dict(member.offsets))
            for each, member in members.items()
        }
        spec = TaskGroupSpec(kept, dict(tasks), stateful, standbys)
        yield spec
        if members:
            for member_id, given in assign_sticky(spec).items():
                members[member_id].active, members[member_id].standby = given.active, given.standby


def _all(tasks: dict[str, int]) -> list[Task]:
    return [(each, index) for each, count in sorted(tasks.items()) for index in range(count)]


def _assigned(spec: TaskGroupSpec) -> dict | str:
    """Our answer, or the message of our refusal."""
    try:
        answer = assign_sticky(spec)
    except TaskAssignmentFailed as failed:
        return str(failed)
    return {member_id: _listed(given) for member_id, given in answer.items()}


def _listed(given: TaskTuple) -> list[dict[str, list[int]]]:
    return [dict(by_subtopology(given.active)), dict(by_subtopology(given.standby))]


def _kafkas(specs: list[TaskGroupSpec]) -> list[dict | str]:
    """Kafka's answers."""
    classes = compile_java([Path(__file__).with_name("StreamsAssignors.java")], "kafka")
    command = java_command("StreamsAssignors", "kafka", classes=classes, flags=["-Dfile.encoding=UTF-8"])
    lines = "".join(json.dumps(_json(spec)) + "\n" for spec in specs)
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", '"'))]


def _json(spec: TaskGroupSpec) -> dict:
    source = random.Random(",".join(spec.members))
    members = {
        member_id: {
            **_without_effect(source, spec),
            "process": member.process_id,
            "active": sorted(member.active),
            "standby": sorted(member.standby),
            "offsets": [[*task, offset] for task, offset in sorted(member.offsets.items())],
        }
        for member_id, member in spec.members.items()
    }
    return {
        "members": members,
        "tasks": dict(spec.tasks),
        "stateful": sorted(spec.stateful),
        "standbys": spec.standby_replicas,
        "racks": source.choice([[], ["zone"], ["zone", "cluster"]]),
    }


def _without_effect(source: random.Random, spec: TaskGroupSpec) -> dict:
    return {
        "instance": source.choice([None, f"instance-{source.randrange(9)}"]),
        "rack": source.choice([None, "a", "b"]),
        "tags": {tag: source.choice("ab") for tag in ("zone", "cluster") if source.random() < 0.8},
        "warmup": [task for task in _all(spec.tasks) if source.random() < 0.1],
        "ends": [[*task, source.randrange(9)] for task in _all(spec.tasks) if source.random() < 0.3],
    }
