"""What a share group is delivered after DeleteRecords into the middle of a batch, in both brokers: while the share partition is open, and
when it is opened again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.offsets import delete
from compat_tests.oracle.cases.share_groups import ACCEPT, RELEASE, acknowledges, fetches, joined, new_group
from compat_tests.oracle.requests import Ask

_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "log.retention.ms": "-1",
}
_NOT_YET = (3, 5, 6, 14, 15, 16)
_BATCH = 10
_LIMIT_S = 60

Acquired = list[tuple[int, int, int]]


class _Member:
    """The only member of a group of its own, which reads a topic of its own: two batches."""

    def __init__(self, ask: Ask, name: str) -> None:
        self.ask = ask
        self.topic = ask.topic(name)
        ask.fill(self.topic, 2 * _BATCH, per_batch=_BATCH)
        self.group = new_group(ask, f"group-{name}")
        self.epoch = 0

    def acquires(self, **options: Any) -> Acquired:
        """What it acquires, once there is something: first and last offset, and delivery count."""
        deadline = time.monotonic() + _LIMIT_S
        if self.epoch == 0:
            joined(self.ask, self.group, self.topic)
        while time.monotonic() < deadline:
            answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, self.epoch, **options), 2)
            assert answer.error_code in (0, *_NOT_YET), answer
            if answer.error_code:
                continue
            self.epoch += 1
            for part in (each for topic in answer.responses for each in topic.partitions):
                assert part.error_code in (0, *_NOT_YET), part
                if part.error_code:
                    self.epoch = 0
                elif part.acquired_records:
                    return [
                        (each.first_offset, each.last_offset, each.delivery_count) for each in part.acquired_records
                    ]
        return []

    def acquires_the_rest(self) -> Acquired:
        """What it acquires up to the last record, by as many fetches as that takes: a session that ends releases a moment later."""
        found: Acquired = []
        while not found or found[-1][1] < 2 * _BATCH - 1:
            some = self.acquires()
            if not some:
                break
            for first, last, count in some:
                if found and (found[-1][1] + 1, found[-1][2]) == (first, count):
                    first = found.pop()[0]
                found.append((first, last, count))
        return found

    def says(self, *batches: tuple[int, int, list[int]]) -> int:
        answer = self.ask.quietly(acknowledges(self.ask, self.group, self.topic, self.epoch, *batches), 2)
        assert answer.error_code == 0, answer
        self.epoch += 1
        return int(answer.responses[0].partitions[0].error_code)

    def deletes(self, before: int) -> None:
        (part,) = self.ask.quietly(delete(self.topic, before), 2).topics[0].partitions
        assert (part.error_code, part.low_watermark) == (0, before), part

    def leaves_session(self) -> None:
        none = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
        answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, -1, **none), 2)
        assert answer.error_code == 0, answer
        self.epoch = 0


def _never_read(member: _Member) -> None:
    joined(member.ask, member.group, member.topic)


def _released(member: _Member) -> None:
    assert member.acquires(max_records=1, max_bytes=1) == [(0, 9, 1)]
    assert member.says((0, 9, [RELEASE])) == 0


def _first_acknowledged(member: _Member) -> None:
    member.acquires_the_rest()
    assert member.says((0, 2, [ACCEPT]), (3, 9, [RELEASE])) == 0


def _some_beyond_acknowledged(member: _Member) -> None:
    member.acquires_the_rest()
    assert member.says((0, 2, [RELEASE]), (6, 7, [ACCEPT]), (12, 13, [ACCEPT])) == 0


_BEFORE: dict[str, Callable[[_Member], None]] = {
    "never read": _never_read,
    "released": _released,
    "the first ones acknowledged": _first_acknowledged,
    "some beyond acknowledged": _some_beyond_acknowledged,
}
#: Into the middle of the first batch, and of the second one.
_TO = (5, 13)
#: A batch that was never acquired is acquired as a whole by Apache Kafka, also its records that were deleted; here they are not delivered.
_DIFFERENT = {f"released, deleted to 13, {way}": ([(10, 19, 1)], [(13, 19, 1)]) for way in ("open", "opened again")}


def _reported(broker: BrokerProcess) -> dict[str, Acquired]:
    """What was acquired after records were deleted, in each story: while the share partition is open, and when it is opened again."""
    broker.start()
    ask = Ask(broker.bootstrap, 2, "deleted")
    found: dict[str, Acquired] = {}
    with closing(ask):
        ask.wait_for_coordinators()
        later = {}
        for number, (what, to, again) in enumerate(product(_BEFORE, _TO, (False, True))):
            member = _Member(ask, f"t{number}")
            _BEFORE[what](member)
            member.deletes(to)
            if member.epoch:
                member.leaves_session()
            name = f"{what}, deleted to {to}, "
            if again:
                later[name + "opened again"] = member
            else:
                found[name + "open"] = member.acquires_the_rest()
        broker.stop()
        broker.start()
        ask.reconnect()
        ask.wait_for_coordinators()
        for name, member in later.items():
            found[name] = member.acquires_the_rest()
    return found


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Acquired], dict[str, Acquired]]:
    folder: Path = tmp_path_factory.mktemp("deleted")
    brokers = ApacheKafka(folder / "kafka", _SETTINGS), Pykbroker(folder / "ours", _SETTINGS)
    try:
        with ThreadPoolExecutor() as pool:
            kafkas, ours = pool.map(_reported, brokers)
    finally:
        for broker in brokers:
            broker.stop()
    return kafkas, ours


def test_deliveries_are_those_of_apache_kafka(reported: tuple[dict[str, Acquired], dict[str, Acquired]]) -> None:
    kafkas, ours = reported
    found = {name: (kafkas[name], ours[name]) for name in kafkas if kafkas[name] != ours[name]}
    assert found == _DIFFERENT, ours


def test_nothing_that_was_deleted_is_delivered(reported: tuple[dict[str, Acquired], dict[str, Acquired]]) -> None:
    for name, acquired in reported[1].items():
        least = 5 if "to 5" in name else 13
        assert acquired, name
        assert min(first for first, _, _ in acquired) >= least, (name, acquired)
