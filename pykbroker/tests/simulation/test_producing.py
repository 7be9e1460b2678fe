"""Small worlds of idempotent producers over copies, and each rule of theirs switched off.

``WORLDS`` says how many small worlds there are.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest

from pykbroker.storage.log import producers, recovery, trimming
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.producers import Producers
from pykbroker.storage.log.state import LogState
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.simulation.producing import produced_world
from pykbroker.tests.simulation.rules import assert_needed

WORLDS = int(os.environ.get("WORLDS", of_depths(20, 100, 10_000)))
#: What must have happened in a hundred worlds, or they are too tame.
EXPECTED = {"acknowledged": 400, "again": 700, "retry": 400, "begin_epoch": 200, "kill": 60, "power": 8, "elect": 100}


pytestmark = pytest.mark.usefixtures("silent")


def test_small_worlds() -> None:
    counts: Counter[str] = Counter()
    for seed in range(WORLDS):
        world = produced_world(seed)
        counts.update(event[0] for event in world.path)
        counts["acknowledged"] += len(world.known)
    if WORLDS >= 100:
        assert not {what: counts[what] for what, least in EXPECTED.items() if counts[what] < least * WORLDS // 100}


def _anything(*_: Any) -> None:
    return None


def _forgets_batches(self: Producers, header: Any, **how: Any) -> Any:
    if header.producer_id in self.entries:
        self.entries[header.producer_id].batches.clear()
    return _CHECK_BATCH(self, header, **how)


def _follows_without_producers(self: Log, *args: Any, **how: Any) -> int:
    size = _APPEND_AS_FOLLOWER(self, *args, **how)
    self.producers.clear(self.log_end_offset)
    return size


def _keeps_producers(log: LogState) -> None:
    log.producers.skip_to(log.log_end_offset)


def _starts_without_producers(log: LogState, **how: Any) -> None:
    _LOAD(log, **how)
    log.producers.clear(log.log_end_offset)


_CHECK_BATCH, _APPEND_AS_FOLLOWER, _LOAD = Producers.check_batch, Log.append_as_follower, recovery.load

#: Each with what takes its place, and a world that notices.
RULES: dict[str, tuple[Any, str, Any, int]] = {
    "an epoch that is over writes no more": (producers, "_check_epoch", _anything, 1),
    "batches come in the order of their sequences": (producers, "_check_sequence", _anything, 27),
    "a batch that is repeated has its first offset": (Producers, "check_batch", _forgets_batches, 0),
    "who follows knows producers": (Log, "append_as_follower", _follows_without_producers, 6),
    "what is cut off is not known of producers": (trimming, "restore_producers", _keeps_producers, 131),
    "a start finds producers in the log": (recovery, "load", _starts_without_producers, 11),
}


@pytest.mark.parametrize("name", RULES)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, without, seed = RULES[name]
    assert_needed(monkeypatch, owner, attribute, without, produced_world, seed)
