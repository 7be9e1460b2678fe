"""Eligible leader replicas: who is one when brokers come and go, and the rules of min.insync.replicas while they are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.controller import Controller
from pykbroker.controller.eligible_leaders import MIN_ISR, check_min_isr, safety_records
from pykbroker.controller.reassignments import plan_reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.features import ELR_VERSION
from pykbroker.metadata.image import BROKER_RESOURCE, NO_LEADER, TOPIC_RESOURCE
from pykbroker.tests.kit.metadata import alter, make_controller, registration
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord


def cluster(*, min_isr: int = 2, level: int = 1, brokers: int = 3) -> Controller:
    """A topic ``t`` with a replica on each broker."""
    controller = make_controller(brokers)
    controller.commit([FeatureLevelRecord(ELR_VERSION, level)])
    alter(controller, BROKER_RESOURCE, "", min_insync_replicas=str(min_isr))
    controller.create_topics([NewTopic("t", -1, -1, [(0, list(range(1, brokers + 1)))])])
    return controller


def state(controller: Controller, topic: str = "t") -> tuple[int, list[int], list[int], list[int]]:
    """Leader, ISR, ELR and who led last."""
    partition = controller.image.partition(topic, 0)
    return partition.leader, partition.isr, partition.eligible_leader_replicas, partition.last_known_elr


def test_who_leaves_a_small_isr_is_eligible() -> None:
    controller = cluster()
    controller.fence_broker(3)
    assert state(controller) == (1, [1, 2], [], [])
    controller.fence_broker(2)
    assert state(controller) == (1, [1], [2], [])
    controller.fence_broker(1)
    assert state(controller) == (NO_LEADER, [], [1, 2], [1])


def test_any_replica_that_is_back_leads_for_all_share_the_store() -> None:
    controller = cluster()
    for broker in (3, 2, 1):
        controller.fence_broker(broker)
    controller.start_broker(registration(3))
    assert state(controller) == (3, [3], [1, 2], [])
    controller.start_broker(registration(1))
    assert state(controller) == (3, [1, 3], [], [])


def test_where_they_are_not_kept_the_last_isr_stays() -> None:
    controller = cluster(level=0)
    for broker in (3, 2, 1):
        controller.fence_broker(broker)
    assert state(controller) == (NO_LEADER, [1], [], [])


def test_a_change_at_level_0_empties_the_list() -> None:
    controller = cluster(brokers=2)
    controller.fence_broker(2)
    controller.commit([FeatureLevelRecord(ELR_VERSION, 0)])
    assert state(controller) == (1, [1], [2], [])
    controller.start_broker(registration(2))
    assert state(controller) == (1, [1, 2], [], [])


def test_no_more_replicas_are_needed_than_there_are() -> None:
    controller = cluster(min_isr=5, brokers=2)
    assert state(controller) == (1, [1, 2], [], [])
    controller.fence_broker(1)
    assert state(controller) == (2, [2], [1], [])


def test_a_topics_own_number_counts() -> None:
    controller = cluster(min_isr=1)
    alter(controller, TOPIC_RESOURCE, "t", min_insync_replicas="3")
    controller.fence_broker(3)
    assert state(controller) == (1, [1, 2], [3], [])


def test_who_is_no_replica_any_more_is_not_eligible() -> None:
    controller = cluster(min_isr=3)
    controller.fence_broker(3)
    record = plan_reassignment(controller.image, "t", 0, [1, 2])
    assert record is not None
    controller.commit([record])
    assert state(controller) == (1, [1, 2], [], [])


def test_another_number_empties_the_lists() -> None:
    controller = cluster(brokers=2)
    controller.create_topics([NewTopic("u", -1, -1, [(0, [2, 1])])])
    controller.fence_broker(2)
    assert (state(controller)[2], state(controller, "u")[2]) == ([2], [2])
    alter(controller, TOPIC_RESOURCE, "t", min_insync_replicas="1")
    assert (state(controller)[2], state(controller, "u")[2]) == ([], [2])
    alter(controller, BROKER_RESOURCE, "", min_insync_replicas="1", num_io_threads="9")
    assert state(controller, "u")[2] == []


@given(st.lists(st.integers(1, 4), max_size=20), st.integers(1, 4))
def test_isr_and_elr_share_nobody_and_somebody_is_left(changes: list[int], min_isr: int) -> None:
    """Each change stops the broker that runs, or starts the one that does not."""
    controller = cluster(min_isr=min_isr, brokers=4)
    running = {1, 2, 3, 4}
    for broker in changes:
        if broker in running:
            controller.fence_broker(broker)
        else:
            controller.start_broker(registration(broker))
        running ^= {broker}
        leader, isr, eligible, _ = state(controller)
        assert set(isr) == running
        assert not running & set(eligible)
        assert isr or eligible
        assert leader in running or (leader == NO_LEADER and not running)
        assert len(isr) < min_isr or not eligible


def test_before_they_are_kept_all_brokers_get_one_number() -> None:
    controller = make_controller()
    image = controller.image
    alter(controller, BROKER_RESOURCE, "1", min_insync_replicas="3")
    alter(controller, BROKER_RESOURCE, "2", num_io_threads="9")
    of_all = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="", name=MIN_ISR, value="2")
    own = ConfigRecord(resource_type=BROKER_RESOURCE, resource_name="1", name=MIN_ISR, value=None)
    assert safety_records(image, 2) == [of_all, own]
    controller.commit([of_all, own])
    assert safety_records(image, 5) == []


def test_the_number_of_all_brokers_stays_while_they_are_kept() -> None:
    image = cluster().image
    for name, value, fault in (
        ("1", "1", "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
        ("1", None, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
        ("", None, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
    ):
        with pytest.raises(KafkaError) as raised:
            check_min_isr(image, BROKER_RESOURCE, name, {MIN_ISR: value})
        assert (raised.value.code, raised.value.message) == (ErrorCode.INVALID_CONFIG, fault)
    check_min_isr(image, BROKER_RESOURCE, "", {MIN_ISR: "3"})
    check_min_isr(image, BROKER_RESOURCE, "1", {"num.io.threads": None})
    check_min_isr(image, TOPIC_RESOURCE, "t", {MIN_ISR: None})
    check_min_isr(cluster(level=0).image, BROKER_RESOURCE, "1", {MIN_ISR: "1"})
