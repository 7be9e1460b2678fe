"""What a share group is delivered after DeleteRecords into the middle of a batch, in both brokers: while the share partition is open, and
when it is opened again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import product

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.offsets import delete
from compat_tests.oracle.cases.share_groups import ACCEPT, RELEASE
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.share_member import SETTINGS, Acquired, ShareMember, in_both

_BATCH = 10
_LAST = 2 * _BATCH - 1


def _member(ask: Ask, name: str) -> ShareMember:
    """One that reads two batches."""
    topic = ask.topic(name)
    ask.fill(topic, 2 * _BATCH, per_batch=_BATCH)
    return ShareMember(ask, topic, f"group-{name}")


def _delete(member: ShareMember, before: int) -> None:
    (part,) = member.ask.quietly(delete(member.topic, before), 2).topics[0].partitions
    assert (part.error_code, part.low_watermark) == (0, before), part


def _released(member: ShareMember) -> None:
    assert member.acquires(max_records=1, max_bytes=1) == [(0, 9, 1)]
    member.acknowledge((0, 9, [RELEASE]))


def _first_acknowledged(member: ShareMember) -> None:
    member.acquires_up_to(_LAST)
    member.acknowledge((0, 2, [ACCEPT]), (3, 9, [RELEASE]))


def _some_beyond_acknowledged(member: ShareMember) -> None:
    member.acquires_up_to(_LAST)
    member.acknowledge((0, 2, [RELEASE]), (6, 7, [ACCEPT]), (12, 13, [ACCEPT]))


_BEFORE: dict[str, Callable[[ShareMember], None]] = {
    "never read": ShareMember.join,
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
            member = _member(ask, f"t{number}")
            _BEFORE[what](member)
            _delete(member, to)
            if member.epoch:
                member.end_session()
            name = f"{what}, deleted to {to}, "
            if again:
                later[name + "opened again"] = member
            else:
                found[name + "open"] = member.acquires_up_to(_LAST)
        broker.stop()
        broker.start()
        ask.reconnect()
        ask.wait_for_coordinators()
        for name, member in later.items():
            found[name] = member.acquires_up_to(_LAST)
    return found


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Acquired], dict[str, Acquired]]:
    return in_both(tmp_path_factory.mktemp("deleted"), SETTINGS, _reported)


def test_deliveries_are_those_of_apache_kafka(reported: tuple[dict[str, Acquired], dict[str, Acquired]]) -> None:
    kafkas, ours = reported
    found = {name: (kafkas[name], ours[name]) for name in kafkas if kafkas[name] != ours[name]}
    assert found == _DIFFERENT, ours


def test_nothing_that_was_deleted_is_delivered(reported: tuple[dict[str, Acquired], dict[str, Acquired]]) -> None:
    for name, acquired in reported[1].items():
        least = 5 if "to 5" in name else 13
        assert acquired, name
        assert min(first for first, _, _ in acquired) >= least, (name, acquired)
