"""Small worlds of reassignments, and each rule of theirs switched off.

``WORLDS`` says how many small worlds there are.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from pykbroker.brokers.partition_table import PartitionTable
from pykbroker.brokers.replica_fetcher import ReplicaFetcher
from pykbroker.brokers.replica_manager import ReplicaManager
from pykbroker.controller import partition_changes, reassignments
from pykbroker.replication.leading import Leading
from pykbroker.replication.throttling import ReplicationQuota
from pykbroker.storage.directories import manager
from pykbroker.storage.directories.log_directories import LogDirectories
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.reassigning import reassigned_world
from pykbroker.tests.simulation.rules import assert_needed

WORLDS = int(os.environ.get("WORLDS", of_depths(10, 40, 10_000)))
#: What must have happened in a hundred worlds, or they are too tame.
EXPECTED = {
    "ended": 10,
    "taken back": 30,
    "reassign": 150,
    "throttle": 150,
    "remake": 20,
    "read": 1000,
    "acknowledged": 1000,
    "kill": 20,
    "power": 15,
    "elect": 25,
    "isolate": 60,
}


pytestmark = pytest.mark.usefixtures("silent")


def test_small_worlds() -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = reassigned_world(seed)
        counts.update(event[0] for event in world.path)
        counts.update(world.counts)
    if WORLDS >= 40:
        assert not {what: counts[what] for what, least in EXPECTED.items() if counts[what] < least * WORLDS // 100}


def _anything(*_: Any, **__: Any) -> None:
    return None


def _ends_at_once(replicas: Any, adding: Any, removing: Any, isr: Any) -> Any:
    return _COMPLETED(replicas, [], removing, isr)


def _smaller_at_once(replicas: Any, adding: Any, removing: Any, isr: Any) -> Any:
    staying = [each for each in isr if each not in removing]
    return _COMPLETED(replicas, [*adding, *staying[:1] * len(removing)], removing, isr)


def _added_stay_in_sync(topic: Any, partition: Any, *, unclean: bool = False) -> Any:
    after = _TAKEN_BACK(topic, partition, unclean=unclean)
    after.isr = list(partition.isr)
    return after


def _whose_log_is_kept(self: PartitionTable, topic: str, topic_id: bytes, index: int, config: Any) -> None:
    del config
    partition = self.by_id.pop((topic_id, index), None)
    if partition is not None:
        del self.by_name[topic, index]
        partition.mark_deleted()


def _is_not_followed(self: Leading, replicas: Any, now_ms: int) -> None:
    if not hasattr(self, "followers"):
        _FOLLOW(self, replicas, now_ms)


def _throttles_who_is_in_sync(self: ReplicaManager, partition: Any, replica: int) -> bool:
    del replica
    return self.throttles.leader.holds_back(partition.topic, partition.index, self.now_ms())


def _is_never_in_sync(self: ReplicaFetcher, *, above: bool) -> bool:
    for followed in self._followed.values():
        followed.in_sync = False
    return _LOOK(self, above=above)


def _for_ever(self: ReplicationQuota, now_ms: int) -> bool:
    del now_ms
    return self.limit < float("inf")


_COMPLETED, _TAKEN_BACK = partition_changes.completed_reassignment, reassignments._taken_back
_FOLLOW, _LOOK = Leading._follow_assignment, ReplicaFetcher._look_at_places

#: Each with what takes its place, and a world that notices. Of who was removed and may not lead, and of what is not taken back, no world has been
#: seen to: ``tests/controller`` and ``test_rules_of_units`` have these.
RULES: dict[str, tuple[Any, str, Any, int]] = {
    "who is added is in sync when it ends": (partition_changes, "completed_reassignment", _ends_at_once, 6),
    "a smaller set is in sync when it ends": (partition_changes, "completed_reassignment", _smaller_at_once, 14),
    "it ends": (partition_changes, "completed_reassignment", _anything, 1),
    "who was added leaves the ISR when it is taken back": (reassignments, "_taken_back", _added_stay_in_sync, 93),
    "a removal begins an epoch": (partition_changes, "_needs_epoch", lambda *_: False, 34),
    "who is removed has no replica": (PartitionTable, "_remove", _anything, 1),
    "who is removed has no log": (PartitionTable, "_remove", _whose_log_is_kept, 1),
    "who is removed fetches no more": (ReplicaManager, "drop", _anything, 3),
    "who is added is followed": (Leading, "_follow_assignment", _is_not_followed, 0),
    "who starts leaves aside what it has no replica of": (LogDirectories, "put_strays_aside", _anything, 6),
    "records whose topic a power loss took are not another's": (manager, "_has_batches", lambda _: False, 793),
    "a leader throttles nobody in sync": (ReplicaManager, "holds_back", _throttles_who_is_in_sync, 1),
    "a follower in sync is not throttled": (ReplicaFetcher, "_look_at_places", _is_never_in_sync, 12),
    "a throttle holds back for a while": (ReplicationQuota, "is_exceeded", _for_ever, 7),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, without, seed = RULES[name]
    assert_needed(monkeypatch, owner, attribute, without, reassigned_world, seed)
