"""The step of fault rules, in a cluster in memory."""

from __future__ import annotations

import pytest

from pykbroker.access.step import authorise
from pykbroker.faults.fault import Fault
from pykbroker.faults.injector import Injector
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def test_stale_metadata_is_of_the_older_image_however_long_the_answer_takes() -> None:
    world = MemoryCluster()
    world.topic("before")
    Injector(world.dispatcher, lambda: world.cluster).add(Fault("Metadata", stale=True))
    world.topic("later")
    names = ["before", "later", *(f"none-{number}" for number in range(12_000))]
    answer = world.post(MetadataRequest([MetadataRequestTopic(name=name) for name in names]), 9)
    assert not answer.done
    while not answer.done:
        world.run_turn()
    found = {topic.name: topic.error_code for topic in answer.value.topics}
    assert (found["before"], found["later"]) == (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_stale_answers_are_not_kept_for_others() -> None:
    world = MemoryCluster()
    injector = Injector(world.dispatcher, lambda: world.cluster)
    rule = injector.add(Fault("Metadata", stale=True))
    world.topic("later")
    image = world.image
    assert world.ask(MetadataRequest(None), 9).topics == []
    assert world.image is image
    injector.remove(rule.number)
    assert [topic.name for topic in world.ask(MetadataRequest(None), 9).topics] == ["later"]


@pytest.mark.parametrize("fault", [{"delay": 500}, {"hold": True}])
@pytest.mark.parametrize(("count", "is_guarded"), [(3000, False), (600, True), (3000, True)])
def test_a_request_that_is_worked_on_in_later_turns_is_delayed_like_any_other(
    fault: dict[str, int], count: int, is_guarded: bool
) -> None:
    """Its frame cannot be handed in again."""
    settings = {"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:ANONYMOUS"} if is_guarded else {}
    world = MemoryCluster(dispatcher=Dispatcher(filled={Place.AUTHORISE: authorise}), **settings)
    injector = Injector(world.dispatcher, lambda: world.cluster)
    rule = injector.add(Fault("DescribeGroups", **fault))
    answer = world.post(DescribeGroupsRequest([f"g{number}" for number in range(count)]), 5)
    for _ in range(200):
        world.run_turn()
    assert not answer.done
    if "hold" in fault:
        injector.remove(rule.number)
    else:
        world.advance(500)
    for _ in range(200):
        world.run_turn()
    assert len(answer.value.groups) == count


def test_an_injected_error_of_altered_quotas_replaces_their_results() -> None:
    """An entity is told apart by what it is made of."""
    world = MemoryCluster()
    Injector(world.dispatcher, lambda: world.cluster).add(
        Fault("AlterClientQuotas", error="UNKNOWN_SERVER_ERROR", after=True)
    )
    of = [
        AlterClientQuotasRequestEntryData([EntityData("user", name)], [OpData("producer_byte_rate", 1e6, False)])
        for name in ("a", "b")
    ]
    entries = world.ask(AlterClientQuotasRequest(of), 1).entries
    said = [(each.entity[0].entity_name, each.error_code) for each in entries]
    assert said == [("a", ErrorCode.UNKNOWN_SERVER_ERROR), ("b", ErrorCode.UNKNOWN_SERVER_ERROR)]
