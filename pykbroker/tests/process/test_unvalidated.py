"""Topics that ask for validation by schemas where nothing validates: the log says so."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

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
    node: Any = SimpleNamespace(lifetimes=lifetimes, validates_by_schemas=validates)
    unvalidated.warn_of_changes(node, lifetimes.begin(world.cluster))
    world.create(*(NewTopic(f"t{number}", 1, 1) for number in range(7)))
    with caplog.at_level(logging.WARNING, unvalidated.__name__):
        alter(world.controller, TOPIC_RESOURCE, "t0", retention_ms="1000")
        unvalidated.warn_of_all(node)
        assert caplog.messages == []
        for number in range(7):
            alter(world.controller, TOPIC_RESOURCE, f"t{number}", confluent_key_schema_validation="true")
        unvalidated.warn_of_all(node)
    why = "does nothing: this process has no schema registry; start it with --schema-registry"
    each = [f"confluent.key.schema.validation=true of topic t{number} {why}" for number in range(7)]
    of_all = f"Schema validation of topics t0, t1, t2, t3, t4 and 2 more {why}"
    assert caplog.messages == ([] if validates else [*each, of_all])
