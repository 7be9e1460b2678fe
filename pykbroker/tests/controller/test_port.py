"""What goes through the port to the controller are values: ``MemoryCluster`` sends all of it through bytes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pykbroker.controller import port
from pykbroker.controller.mutation_quotas import ChargedClient
from pykbroker.controller.topics import NewTopic
from pykbroker.quotas.limits import QuotaLimits
from pykbroker.quotas.mutations import ClientMutations
from pykbroker.quotas.usage import TokenUsage
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.rates import Windows
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.metadata import make_controller
from pykbroker.tests.kit.serialising_port import OPERATIONS, NotAValueError, serialising, through_bytes
from pykbroker.wire.errors import ErrorCode, KafkaError

NO_VALUES = [lambda: None, print, [].append, object(), Deferred(), MemoryCluster.topic, ManualClock()]


@pytest.mark.parametrize("sneaked", NO_VALUES, ids=lambda each: type(each).__name__)
def test_neither_a_callable_nor_what_has_identity_goes_in(sneaked: Any) -> None:
    asked = serialising(make_controller())
    with pytest.raises(NotAValueError):
        asked.create_topics([NewTopic("t", configs={"retention.ms": sneaked})])
    with pytest.raises(NotAValueError):
        asked.alter_configs([], broker_id=1, validate_only=sneaked)


@pytest.mark.parametrize("sneaked", NO_VALUES, ids=lambda each: type(each).__name__)
def test_nor_comes_out(sneaked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = make_controller()
    monkeypatch.setattr(controller, "elect_preferred_leaders", lambda: Deferred.completed([sneaked]))
    with pytest.raises(NotAValueError):
        _ = serialising(controller).elect_preferred_leaders().value


def test_the_port_names_no_callable() -> None:
    assert "Callable" not in inspect.getsource(port)


def test_the_controller_answers_each_operation() -> None:
    controller = make_controller()
    assert [name for name in OPERATIONS if not callable(getattr(controller, name))] == []


def test_clusters_in_memory_ask_through_bytes() -> None:
    world = MemoryCluster()
    asked = world.cluster.controller
    assert asked is not world.cluster.local_controller
    with pytest.raises(AttributeError, match="has no commit"):
        asked.commit([])
    topic = NewTopic("t", 1, 1)
    (result,) = asked.create_topics([topic]).value.result
    assert result.topic_id == world.image.topics["t"].id


def test_a_failure_keeps_how_long_its_client_is_throttled() -> None:
    error = KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "later")
    error.throttle_time_ms = 7
    same = through_bytes(error)
    assert (same.code, same.message, same.throttle_time_ms) == (error.code, "later", 7)


def test_who_is_charged_and_for_how_long_the_client_is_throttled_are_values() -> None:
    controller = make_controller()
    limits = QuotaLimits({(("user", "alice"),): {"controller_mutation_rate": 1.0}}, "controller_mutation_rate")
    controller.charge(ClientMutations(TokenUsage(limits, Windows()), ManualClock()))
    asked = serialising(controller)
    alice, bob = (ChargedClient(name, "", is_strict=False) for name in ("alice", "bob"))
    assert asked.create_topics([NewTopic("a", 15, 1)], client=alice).value.throttle_time_ms == 4000
    assert asked.create_topics([NewTopic("b", 15, 1)], client=bob).value.throttle_time_ms == 0
    assert asked.create_topics([NewTopic("c", 15, 1)]).value.throttle_time_ms == 0
    strict = asked.create_topics([NewTopic("d", 1, 1)], client=alice._replace(is_strict=True)).value
    assert strict.result[0].error is not None
    assert (strict.result[0].error.code, strict.throttle_time_ms) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, 4000)
