"""The order of things: into the log, into the image, to the subscribers, and only then back to the caller."""

from __future__ import annotations

import errno

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.kit.metadata import PLAIN, MetadataDirectory, alter, make_controller, registration
from pykbroker.wire.errors import KafkaError


def test_subscribers_see_log_and_image_before_the_caller_does():
    controller = make_controller()
    seen = []

    def subscriber(image, delta):
        assert controller.log.end_offset == image.offset + 1
        seen.append(([t.name for t in delta.created_topics], [c.after.index for c in delta.partitions]))
        assert "t" in image.topics

    controller.subscribe(subscriber)
    controller.create_topics([NewTopic("t", 2, 1)])
    assert seen == [(["t"], [0, 1])]


@pytest.fixture
def full_disk():
    """A directory whose disk is full, once its broker has started."""
    directory = MetadataDirectory(levels=PLAIN)
    directory.controller.start_brokers([registration(1)])
    directory.disk.fail = lambda _, operation: OSError(errno.ENOSPC, "full") if "write" in operation else None
    return directory


def test_what_the_log_does_not_take_does_not_happen(full_disk):
    controller = full_disk.controller
    told = []
    controller.subscribe(lambda image, delta: told.append(delta))
    for refused in (controller.create_topics([NewTopic("t")]), controller.allocate_producer_ids(1)):
        with pytest.raises(KafkaError):
            _ = refused.value
    assert controller.image.topics == {}
    assert controller.image.next_producer_id == 0
    assert told == []


def test_a_process_ends_even_if_the_log_cannot_be_written(full_disk, caplog):
    controller = full_disk.controller
    controller.stop_brokers()
    assert "cannot be written to the metadata log: KAFKA_STORAGE_ERROR" in caplog.text
    assert [broker.id for broker in controller.image.active_brokers()] == [1]


def test_nothing_to_do_is_not_written():
    controller = make_controller()
    controller.create_topics([NewTopic("t")])
    end = controller.log.end_offset
    controller.create_topics([])
    controller.delete_topics([b"?" * 16])
    controller.elect_preferred_leaders()
    alter(controller, TOPIC_RESOURCE, "t", retention_ms=None)
    assert controller.log.end_offset == end


def test_settings_are_set_and_removed_and_only_changes_written():
    controller = make_controller()
    controller.create_topics([NewTopic("t", configs={"retention.ms": "1", "segment.ms": "2"})])
    changed = []
    controller.subscribe(lambda image, delta: changed.append(delta.configs))
    before = controller.log.end_offset
    alter(controller, TOPIC_RESOURCE, "t", retention_ms="3", segment_ms="2", flush_ms=None)
    assert controller.log.end_offset == before + 1
    assert controller.image.topic_config("t") == {"retention.ms": "3", "segment.ms": "2"}
    alter(controller, TOPIC_RESOURCE, "t", retention_ms=None, segment_ms=None)
    assert controller.image.configs == {}
    assert changed == [{(TOPIC_RESOURCE, "t")}] * 2


def test_a_deleted_topic_keeps_its_partitions_in_the_delta():
    controller = make_controller()
    (result,) = controller.create_topics([NewTopic("t", 3, 1)]).value.result
    deltas = []
    controller.subscribe(lambda image, delta: deltas.append(delta))
    controller.delete_topics([result.topic_id])
    ((topic,),) = [delta.deleted_topics for delta in deltas]
    assert (topic.name, sorted(topic.partitions)) == ("t", [0, 1, 2])
