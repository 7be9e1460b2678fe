"""What the log says when partitions change where brokers have a store each."""

from __future__ import annotations

import logging

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.controller.test_own_stores import UNCLEAN, Replicated
from pykbroker.tests.kit.metadata import alter

ROOM = "pykbroker.controller.partition_log"


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    found = [(each.levelname, each.getMessage()) for each in caplog.records if each.name == ROOM]
    caplog.clear()
    return found


def test_a_line_for_each_change(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, ROOM)
    topic = Replicated(min_isr=1)
    assert told(caplog) == []
    topic.fence(1)
    assert told(caplog) == [
        ("INFO", "t-0 has the leader 2 after 1 (leader epoch 1)"),
        ("INFO", "t-0 has the ISR [2, 3] after [1, 2, 3]"),
    ]
    topic.isr(2)
    assert told(caplog) == [("INFO", "t-0 has the ISR [2] after [2, 3]")]
    topic.fence(2)
    assert told(caplog)[0] == ("WARNING", "t-0 has no leader: of its replicas [1, 2, 3] none may lead")
    alter(topic.controller, TOPIC_RESOURCE, "t", **UNCLEAN)
    _ = topic.controller.elect_unclean_leaders().value
    assert told(caplog)[0] == (
        "WARNING",
        "t-0 has the leader 3 by an unclean election: what it lacks is lost (leader epoch 3)",
    )
    assert topic.controller.own_stores is not None
    assert topic.controller.own_stores.partition_log.unclean_elections == 1


def test_the_last_leader_returns_after_crashes_of_all(caplog: pytest.LogCaptureFixture) -> None:
    topic = Replicated(min_isr=1)
    for broker in (1, 2, 3):
        topic.fence(broker)
    topic.back(3)
    (_, said) = told(caplog)[-1]
    assert said == (
        "t-0 has the leader 3 again, who led last; no replica in sync was shut down cleanly, and what its disk has not kept is lost "
        "(leader epoch 4)"
    )
    assert topic.controller.own_stores is not None
    assert topic.controller.own_stores.partition_log.unclean_elections == 1


def test_a_broker_with_many_partitions_is_told_briefly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, ROOM)
    topic = Replicated()
    topic.controller.create_topics([NewTopic("many", -1, -1, [(index, [1, 2]) for index in range(30)])])
    caplog.clear()
    topic.fence(1)
    assert told(caplog) == [("INFO", "31 partitions have changed")]
