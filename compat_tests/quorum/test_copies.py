"""Copies on a broker of ours and one of Apache Kafka: each follows the other, and leads after it."""

from __future__ import annotations

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.quorum.member import Member, consume, create, log_of, produce, state
from pykbroker.tests.kit.running import until_in_thread


@pytest.mark.parametrize("leader", [1, 4])
def test_one_follows_the_other(leader: int, java: ApacheKafka, ours: Member) -> None:
    topic = create(java.bootstrap, [leader, 5 - leader], min_insync_replicas="2")
    values = [b"%d" % n for n in range(1000)]
    produce(java.bootstrap, topic, values)  # acks=all needs both
    assert consume(ours.bootstrap, topic, 1000) == values
    assert state(java.bootstrap, topic) == (leader, {1, 4})
    until_in_thread(lambda: log_of(java, topic) == log_of(ours, topic))


@pytest.mark.parametrize("ending", ["stop", "kill"])
@pytest.mark.parametrize("leader", [1, 4])
def test_ours_goes_and_comes_back(leader: int, ending: str, java: ApacheKafka, ours: Member) -> None:
    topic = create(java.bootstrap, [leader, 5 - leader], min_insync_replicas="2")
    produce(java.bootstrap, topic, [b"both"])
    getattr(ours, ending)()
    until_in_thread(lambda: state(java.bootstrap, topic) == (1, {1}))
    ours.start()
    until_in_thread(lambda: state(java.bootstrap, topic) == (1, {1, 4}))
    produce(java.bootstrap, topic, [b"both again"])
    assert consume(java.bootstrap, topic, 2) == [b"both", b"both again"]
    until_in_thread(lambda: log_of(java, topic) == log_of(ours, topic))
