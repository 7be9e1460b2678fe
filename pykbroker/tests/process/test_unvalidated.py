"""Topics that ask for validation by schemas where nothing validates: the log says so."""

from __future__ import annotations

import logging

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.process import unvalidated
from pykbroker.process.life import Lifetimes
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.metadata import alter


@pytest.mark.parametrize("validates", [False, True])
def test_it_is_said_when_a_topic_asks_and_after_a_start(validates: bool, caplog: pytest.LogCaptureFixture) -> None:
    world = MemoryCluster()
    lifetimes = Lifetimes()
    warnings = unvalidated.ValidationWarnings(lifetimes)
    lifetimes.begin(world.cluster)
    if validates:
        warn_again = warnings.cease()
    world.create(*(NewTopic(f"t{number}", 1, 1) for number in range(7)))
    with caplog.at_level(logging.WARNING, unvalidated.__name__):
        alter(world.controller, TOPIC_RESOURCE, "t0", retention_ms="1000")
        warnings.warn_of_all()
        assert caplog.messages == []
        for number in range(7):
            alter(world.controller, TOPIC_RESOURCE, f"t{number}", confluent_key_schema_validation="true")
        warnings.warn_of_all()
    why = "does nothing: this process has no schema registry; start it with --schema-registry"
    each = [f"confluent.key.schema.validation=true of topic t{number} {why}" for number in range(7)]
    of_all = f"Schema validation of topics t0, t1, t2, t3, t4 and 2 more {why}"
    if validates:
        assert caplog.messages == []
        warn_again()
        warnings.warn_of_all()
    assert caplog.messages == ([of_all] if validates else [*each, of_all])


def test_many_topics_that_ask_at_once_are_told_in_slices(caplog: pytest.LogCaptureFixture) -> None:
    world, many = MemoryCluster(), 1000
    lifetimes = Lifetimes()
    unvalidated.ValidationWarnings(lifetimes)
    lifetimes.begin(world.cluster)
    asks = {"confluent.value.schema.validation": "true"}
    with caplog.at_level(logging.WARNING, unvalidated.__name__):
        wait = world.controller.create_topics([NewTopic(f"t{number}", 1, 1, configs=asks) for number in range(many)])
        while not wait.done:
            world.run_turn()
        told = len(caplog.messages)
        assert told < many
        for _ in range(many):
            world.run_turn()
    assert len(caplog.messages) == many
