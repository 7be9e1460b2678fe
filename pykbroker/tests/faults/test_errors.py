"""Errors of rules for requests of share sessions, in a cluster in memory."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.faults.fault import Fault
from pykbroker.faults.injector import Injector
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode

BROKEN = "KAFKA_STORAGE_ERROR"
REFUSED = ErrorCode[BROKEN]


def started(partitions: int = 1) -> tuple[ShareCluster, ShareMember, Injector]:
    world = ShareCluster(partitions=partitions)
    world.joined()
    for index in range(partitions):
        world.produce(4, index)
    return world, ShareMember(world, partitions=partitions), Injector(world.dispatcher, lambda: world.cluster)


def codes(answer: Any) -> dict[int, tuple[int, int]]:
    """Of each partition, the error and that of its acknowledgements."""
    parts = [part for topic in answer.responses for part in topic.partitions]
    return {part.partition_index: (part.error_code, part.acknowledge_error_code) for part in parts}


@pytest.mark.parametrize("error", [BROKEN, "GROUP_AUTHORIZATION_FAILED"])
@pytest.mark.parametrize("after", [False, True])
def test_a_session_goes_on_after_an_error_of_its_first_fetch(error: str, after: bool) -> None:
    _, member, injector = started()
    injector.add(Fault("ShareFetch", error=error, times=1, after=after))
    answer = member.fetch()
    assert ErrorCode[error] in (answer.error_code, *(code for pair in codes(answer).values() for code in pair))
    # after: they are acquired, and the member does not know
    assert member.acquired() == ([] if after else [(0, 3, 1)])


def test_partitions_of_the_session_are_meant_that_the_request_does_not_name() -> None:
    _, member, injector = started(partitions=2)
    assert [part for _, _, part in member.acquired()] == [1, 1]
    injector.add(Fault("ShareFetch", error=BROKEN, topic="t", partition=1, times=1))
    assert codes(member.fetch()) == {1: (REFUSED, 0)}
    assert codes(member.fetch(max_wait_ms=0)) == {}


def test_a_rule_of_another_topic_matches_nothing() -> None:
    _, member, injector = started()
    injector.add(Fault("ShareFetch", error=BROKEN, topic="other"))
    assert member.acquired() == [(0, 3, 1)]
    assert codes(member.fetch()) == {}


@pytest.mark.parametrize("after", [False, True])
def test_acknowledgements_that_are_refused_are_not_carried_out(after: bool) -> None:
    _, member, injector = started(partitions=2)
    assert len(member.acquired()) == 2
    injector.add(Fault("ShareFetch", error=BROKEN, topic="t", partition=0, times=1, after=after))
    accept = [(1, 3, [Acknowledge.ACCEPT])]
    assert codes(member.fetch({0: accept, 1: accept})) == {0: (REFUSED, REFUSED), 1: (0, 0)}
    again = ErrorCode.INVALID_RECORD_STATE if after else ErrorCode.NONE
    assert member.acknowledge(1, 3, Acknowledge.ACCEPT) == again
    assert member.acknowledge(1, 3, Acknowledge.ACCEPT, index=1) == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize("error", [BROKEN, "GROUP_AUTHORIZATION_FAILED"])
def test_a_session_goes_on_after_an_error_of_an_acknowledgement(error: str) -> None:
    _, member, injector = started()
    assert member.acquired() == [(0, 3, 1)]
    injector.add(Fault("ShareAcknowledge", error=error, times=1))
    assert member.acknowledge(0, 3, Acknowledge.ACCEPT) == ErrorCode[error]
    assert member.acknowledge(0, 3, Acknowledge.ACCEPT) == ErrorCode.NONE
