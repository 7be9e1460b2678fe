from __future__ import annotations

import pytest

from pykbroker.replication.throttling import ReplicationQuota
from pykbroker.runtime.rates import Windows


@pytest.fixture
def quota() -> ReplicationQuota:
    made = ReplicationQuota(Windows(), 0)
    made.limit = 1000
    return made


def test_a_limit_is_reached_when_more_was_used_than_it_allows(quota: ReplicationQuota) -> None:
    quota.record(1000, 0)
    assert not quota.is_exceeded(0)
    quota.record(1, 0)
    assert quota.is_exceeded(0)
    assert quota.is_exceeded(1000)
    assert not quota.is_exceeded(1001)


def test_a_rate_is_over_the_time_since_the_first_use_that_counts(quota: ReplicationQuota) -> None:
    """Unlike that of clients, for whom it is at least ten seconds: a burst is one second's worth."""
    for second in range(5):
        quota.record(1000, second * 1000)
        assert quota.is_exceeded(second * 1000) is (second > 0)
    assert quota.is_exceeded(4999)
    assert not quota.is_exceeded(5000)


def test_nothing_is_allowed(quota: ReplicationQuota) -> None:
    quota.limit = 0
    assert not quota.is_exceeded(0)
    quota.record(1, 0)
    assert quota.is_exceeded(10_000)
    assert not quota.is_exceeded(11_000)


def test_whose_limit_it_is(quota: ReplicationQuota) -> None:
    quota.throttle("all", ("*",), 2)
    quota.throttle("some", ("0:1", "1:2", "3:2"), 2)
    quota.throttle("others", ("0:1",), 2)
    throttled = [
        (topic, index)
        for topic in ("all", "some", "others", "none")
        for index in range(4)
        if quota.is_throttled(topic, index)
    ]
    assert throttled == [("all", 0), ("all", 1), ("all", 2), ("all", 3), ("some", 1), ("some", 3)]
    quota.moved("some", 0, 5000, 0)
    assert not quota.is_exceeded(0)
    quota.moved("some", 1, 5000, 0)
    assert quota.is_exceeded(0)
    assert quota.holds_back("some", 1, 0)
    assert not quota.holds_back("some", 0, 0)
    for none in ((), ("",)):
        quota.throttle("all", none, 2)
        assert not quota.is_throttled("all", 0)


def test_without_a_limit(quota: ReplicationQuota) -> None:
    free = ReplicationQuota(Windows(), 0)
    free.throttle("t", ("*",), 1)
    free.moved("t", 0, 10**12, 0)
    assert not free.holds_back("t", 0, 0)


@pytest.mark.parametrize("pair", ["0:" + "9" * 5000, "9" * 5000 + ":1", "9" * 11 + ":1"])
def test_numbers_of_no_partition_and_no_broker_throttle_nothing(quota: ReplicationQuota, pair: str) -> None:
    """The setting's rule takes any digits."""
    quota.throttle("t", [pair, "2:1", "3:" + "0" * 5000 + "1"], 1)
    assert [index for index in range(5) if quota.is_throttled("t", index)] == [2, 3]
