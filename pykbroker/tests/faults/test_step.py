"""The step of fault rules, in a cluster in memory."""

from __future__ import annotations

from pykbroker.faults.fault import Fault
from pykbroker.faults.injector import Injector
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
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
