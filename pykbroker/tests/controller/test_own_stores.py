"""Brokers with a store each come, go and come back: who is in the ISR, who is eligible, who leads, in which epochs."""

from __future__ import annotations

import pytest

from pykbroker.controller.elections import ElectionType
from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.tests.kit.metadata import alter, make_replicating_controller, own_registration
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    BrokerState,
)

UNCLEAN = {"unclean_leader_election_enable": "true"}


class Replicated:
    """A topic ``t`` with one partition on three brokers, of which the leader says who is in sync."""

    def __init__(self, *, min_isr=2, elr=1, brokers=3, replicas=(1, 2, 3)):
        self.controller = make_replicating_controller(brokers, min_isr=min_isr, elr=elr)
        self.controller.create_topics([NewTopic("t", -1, -1, [(0, list(replicas))])])

    @property
    def image(self):
        return self.controller.image

    @property
    def partition(self):
        return self.image.partition("t", 0)

    @property
    def state(self):
        """Leader, ISR, ELR, last known leader."""
        now = self.partition
        return now.leader, now.isr, now.eligible_leader_replicas, now.last_known_elr

    def fence(self, *brokers):
        for broker in brokers:
            _ = self.controller.fence_broker(broker).value

    def back(self, broker, *, clean=False):
        previous = self.image.brokers[broker].epoch if clean else -1
        return self.controller.start_broker(own_registration(broker, previous)).value

    def isr(self, *brokers, recovery_state=0):
        """The leader says so."""
        now, known = self.partition, self.image.brokers
        wanted = AlterPartitionRequestPartitionData(
            partition_index=0,
            leader_epoch=now.leader_epoch,
            new_isr_with_epochs=[BrokerState(broker, known[broker].epoch) for broker in brokers],
            leader_recovery_state=recovery_state,
            partition_epoch=now.partition_epoch,
        )
        topic = AlterPartitionRequestTopicData(self.image.topics["t"].id, [wanted])
        request = AlterPartitionRequest(now.leader, known[now.leader].epoch, [topic])
        return self.controller.alter_partition(request).value.topics[0].partitions[0]

    def reassign(self, *replicas):
        wanted = [Reassignment("t", 0, list(replicas) or None)]
        return self.controller.alter_reassignments(wanted, same_factor=False).value[0]

    def elect(self, kind):
        ((_, error),) = self.controller.elect_leaders(kind, [("t", [0])]).value["t"]
        return error and error.code


def test_a_broker_that_comes_back_is_not_in_sync_before_the_leader_says_so() -> None:
    topic = Replicated()
    topic.fence(3)
    assert topic.state == (1, [1, 2], [], [])
    topic.back(3)
    assert topic.state == (1, [1, 2], [], [])
    assert topic.isr(1, 2, 3).error_code == 0
    assert topic.state == (1, [1, 2, 3], [], [])


def test_the_last_replica_standing_and_who_left_before_it_are_eligible() -> None:
    topic = Replicated()
    topic.fence(3, 2)
    assert topic.state == (1, [1], [2], [])
    topic.fence(1)
    assert topic.state == (-1, [], [1, 2], [1])
    topic.back(3, clean=True)
    assert topic.state == (-1, [], [1, 2], [1])
    topic.back(2, clean=True)
    assert topic.state == (2, [2], [1], [])


def test_an_unclean_shutdown_ends_eligibility() -> None:
    topic = Replicated()
    topic.fence(3, 2)
    topic.back(2)
    assert topic.state == (1, [1], [], [])
    topic.fence(1)
    assert topic.state == (-1, [], [1], [1])
    topic.back(2)
    assert topic.state == (-1, [], [1], [1])


def test_the_last_known_leader_waits_for_who_is_eligible() -> None:
    topic = Replicated()
    topic.fence(3, 2, 1)
    topic.back(1)
    assert topic.state == (-1, [], [2], [1])
    topic.back(2, clean=True)
    assert topic.state == (2, [2], [], [])


def test_a_last_known_leader_that_is_away_is_waited_for() -> None:
    topic = Replicated()
    topic.fence(3, 2, 1)
    topic.back(1)
    topic.fence(1)
    topic.back(2)
    assert topic.state == (-1, [], [], [1])
    topic.back(1)
    assert topic.state == (1, [1], [], [])


def test_a_removed_replica_is_not_eligible() -> None:
    topic = Replicated()
    topic.reassign(2)
    assert topic.partition.replicas == [2]
    assert topic.state == (2, [2], [], [])


def test_the_last_known_leader_leads_if_nobody_is_eligible_and_recovers_first() -> None:
    topic = Replicated(min_isr=1)
    topic.fence(3, 2, 1)
    assert topic.state == (-1, [], [1], [1])
    topic.back(1)
    now = topic.partition
    assert topic.state == (1, [1], [], [])
    assert now.leader_recovery_state == 1
    topic.back(2)
    assert topic.isr(1, 2, recovery_state=1).error_code == ErrorCode.INVALID_REQUEST
    assert topic.isr(1, recovery_state=0).leader_recovery_state == 0
    assert topic.partition.leader_recovery_state == 0


def test_without_eligible_replicas_the_last_isr_stays_and_only_its_replica_may_lead() -> None:
    topic = Replicated(elr=0)
    topic.fence(3, 2, 1)
    assert topic.state == (-1, [1], [], [])
    topic.back(2)
    assert topic.state == (-1, [1], [], [])
    topic.back(1)
    assert topic.state == (1, [1], [], [])


@pytest.mark.parametrize("resource", [(TOPIC_RESOURCE, "t"), (BROKER_RESOURCE, ""), (BROKER_RESOURCE, "1")])
def test_an_unclean_election_is_the_topics_choice_and_loses_what_was_not_copied(resource: tuple[int, str]) -> None:
    topic = Replicated(min_isr=1)
    topic.fence(3, 2, 1)
    topic.back(3)
    assert topic.state == (-1, [], [1], [1])
    _ = topic.controller.elect_unclean_leaders().value
    assert topic.state == (-1, [], [1], [1])
    alter(topic.controller, *resource, **UNCLEAN)
    _ = topic.controller.elect_unclean_leaders().value
    assert topic.state == (3, [3], [], [])
    assert topic.partition.leader_recovery_state == 1


def test_where_it_is_allowed_a_lost_leader_is_replaced_at_once() -> None:
    topic = Replicated(min_isr=1)
    alter(topic.controller, TOPIC_RESOURCE, "t", **UNCLEAN)
    topic.isr(1)
    topic.fence(1)
    assert topic.state == (2, [2], [], [])
    assert topic.partition.leader_recovery_state == 1


def test_operators_elect() -> None:
    topic = Replicated(min_isr=1)
    topic.fence(1)
    assert topic.elect(ElectionType.PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    topic.back(1)
    assert topic.elect(ElectionType.PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE  # alive, but not in sync
    topic.isr(2, 3, 1)
    assert topic.elect(ElectionType.UNCLEAN) == ErrorCode.ELECTION_NOT_NEEDED
    assert topic.elect(ElectionType.PREFERRED) is None
    assert topic.elect(ElectionType.PREFERRED) == ErrorCode.ELECTION_NOT_NEEDED
    assert topic.state == (1, [2, 3, 1], [], [])
    topic.isr(1)
    topic.fence(1)
    assert topic.elect(ElectionType.UNCLEAN) is None
    assert topic.state == (2, [2], [], [])


def test_preferred_leaders_lead_again_by_themselves() -> None:
    topic = Replicated()
    topic.fence(1)
    topic.back(1, clean=True)
    _ = topic.controller.elect_preferred_leaders().value
    assert topic.partition.leader == 2
    topic.isr(2, 3, 1)
    _ = topic.controller.elect_preferred_leaders().value
    assert topic.partition.leader == 1


def test_a_controlled_shutdown_moves_leaders_first() -> None:
    topic = Replicated()
    before = topic.partition.leader_epoch
    _ = topic.controller.begin_shutdown(1).value
    assert topic.state == (2, [2, 3], [], [])
    assert topic.partition.leader_epoch == before + 1
    assert topic.isr(2, 3, 1).error_code == ErrorCode.INELIGIBLE_REPLICA
    topic.fence(1)
    assert topic.image.brokers[1].fenced


def test_a_reassignment_ends_when_the_added_replicas_are_in_sync() -> None:
    topic = Replicated(brokers=5)
    assert topic.reassign(4, 5, 1) is None
    now = topic.partition
    assert (now.replicas, now.adding_replicas, now.removing_replicas) == ([4, 5, 1, 2, 3], [4, 5], [2, 3])
    assert topic.state == (1, [1, 2, 3], [], [])
    topic.isr(1, 2, 3, 4)
    assert topic.partition.adding_replicas == [4, 5]
    epoch = topic.partition.leader_epoch
    assert topic.isr(1, 2, 3, 4, 5).error_code == 0
    now = topic.partition
    assert (now.replicas, now.adding_replicas, now.removing_replicas) == ([4, 5, 1], [], [])
    assert (topic.state, now.leader_epoch) == ((1, [1, 4, 5], [], []), epoch + 1)
    assert now.directories == [bytes([broker]) * 16 for broker in (4, 5, 1)]


def test_a_leader_that_a_reassignment_removes_learns_that_another_was_elected() -> None:
    topic = Replicated(brokers=4)
    topic.reassign(2, 3, 4)
    assert topic.isr(1, 2, 3, 4).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert topic.state == (2, [2, 3, 4], [], [])


def test_a_reassignment_is_taken_back() -> None:
    topic = Replicated(brokers=4)
    assert topic.reassign().code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    topic.reassign(4)
    assert topic.reassign() is None
    assert topic.partition.replicas == [1, 2, 3]
    assert topic.state == (1, [1, 2, 3], [], [])


def test_it_is_not_taken_back_to_replicas_that_miss_records() -> None:
    topic = Replicated(brokers=5, replicas=(1, 2))
    topic.reassign(4, 5)
    topic.fence(1, 2)
    assert topic.state[0] == -1
    alter(topic.controller, TOPIC_RESOURCE, "t", **UNCLEAN)
    _ = topic.controller.elect_unclean_leaders().value
    assert topic.state == (4, [4], [], [])
    alter(topic.controller, TOPIC_RESOURCE, "t", unclean_leader_election_enable=None)
    assert topic.reassign().code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    alter(topic.controller, TOPIC_RESOURCE, "t", **UNCLEAN)
    assert topic.reassign() is None
    assert topic.partition.replicas == [1, 2]


def test_another_min_isr_ends_eligibility() -> None:
    topic = Replicated()
    topic.fence(3, 2)
    assert topic.state == (1, [1], [2], [])
    alter(topic.controller, TOPIC_RESOURCE, "t", min_insync_replicas="1")
    assert topic.state == (1, [1], [], [])


def test_a_whole_cluster_that_stopped_cleanly_is_in_sync_as_it_was() -> None:
    topic = Replicated(min_isr=2)
    epochs = {broker.id: broker.epoch for broker in topic.image.brokers.values()}
    topic.fence(1, 2, 3)
    assert topic.state == (-1, [], [2, 3], [3])
    registrations = [own_registration(broker, epoch) for broker, epoch in epochs.items()]
    again = topic.controller.start_brokers(registrations)
    assert topic.state == (2, [2], [3], [])
    assert {broker.id: broker.epoch for broker in topic.image.brokers.values()} == again
    assert min(again.values()) > max(epochs.values())
    assert not any(broker.fenced for broker in topic.image.brokers.values())


def test_brokers_that_are_not_of_this_process_are_fenced_at_its_start() -> None:
    topic = Replicated()
    topic.controller.start_brokers([own_registration(broker) for broker in (2, 3)])
    assert topic.image.brokers[1].fenced
    assert topic.state[0] == -1 or topic.state[0] in (2, 3)


def test_a_broker_is_unregistered_with_its_place_in_the_isr() -> None:
    topic = Replicated()
    _ = topic.controller.unregister_broker(1).value
    assert topic.state == (2, [2, 3], [], [])
    assert 1 not in topic.image.brokers
    with pytest.raises(KafkaError):
        _ = topic.controller.unregister_broker(1).value


def test_nothing_happens_to_brokers_that_are_away_or_unknown() -> None:
    topic = Replicated()
    topic.fence(3)
    end = topic.controller.log.end_offset
    topic.fence(3, 7)
    _ = topic.controller.begin_shutdown(3).value
    assert topic.controller.log.end_offset == end
