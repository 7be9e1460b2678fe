"""Each kind of record, and that a log that contradicts itself is refused."""

from __future__ import annotations

import pytest

from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.image_records import image_records
from pykbroker.metadata.replay import ReplayError, replay
from pykbroker.tests.kit.metadata import replayed
from pykbroker.wire.internal.abort_transaction_record import AbortTransactionRecord
from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord
from pykbroker.wire.internal.broker_registration_change_record import BrokerRegistrationChangeRecord
from pykbroker.wire.internal.clear_elr_record import ClearElrRecord
from pykbroker.wire.internal.client_quota_record import ClientQuotaRecord, EntityData
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.internal.fence_broker_record import FenceBrokerRecord
from pykbroker.wire.internal.no_op_record import NoOpRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.producer_ids_record import ProducerIdsRecord
from pykbroker.wire.internal.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from pykbroker.wire.internal.register_controller_record import RegisterControllerRecord
from pykbroker.wire.internal.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from pykbroker.wire.internal.remove_delegation_token_record import RemoveDelegationTokenRecord
from pykbroker.wire.internal.remove_topic_record import RemoveTopicRecord
from pykbroker.wire.internal.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from pykbroker.wire.internal.topic_record import TopicRecord
from pykbroker.wire.internal.unfence_broker_record import UnfenceBrokerRecord
from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord
from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord
from pykbroker.wire.internal.zk_migration_state_record import ZkMigrationStateRecord

A, B = b"a" * 16, b"b" * 16


def topic(name="t", topic_id=A):
    return TopicRecord(name=name, topic_id=topic_id)


def partition(index=0, **fields):
    fields = {"replicas": [1, 2], "isr": [1, 2], "leader": 1, "leader_epoch": 0, "partition_epoch": 0} | fields
    return PartitionRecord(partition_id=index, topic_id=A, directories=[A, B], **fields)


def broker(broker_id=1, epoch=5):
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=epoch,
        incarnation_id=A,
        end_points=[BrokerEndpoint(name="L", host="h", port=9092, security_protocol=0)],
        features=[BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
        rack="r",
        log_dirs=[A],
    )


EVERYTHING = [
    FeatureLevelRecord(name="metadata.version", feature_level=30),
    FeatureLevelRecord(name="group.version", feature_level=1),
    NoOpRecord(),
    ZkMigrationStateRecord(zk_migration_state=0),
    broker(),
    BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1),
    BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, cordoned_log_dirs=[]),
    RegisterControllerRecord(controller_id=1, incarnation_id=B),
    topic(),
    ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="1"),
    partition(0, eligible_leader_replicas=[2]),
    partition(1, leader=-1, leader_recovery_state=1),
    PartitionChangeRecord(topic_id=A, partition_id=1, isr=[2], leader=2, removing_replicas=[1], adding_replicas=[3]),
    topic("x.y", B),
    ProducerIdsRecord(broker_id=1, broker_epoch=5, next_producer_id=3000),
    ClientQuotaRecord(entity=[EntityData(entity_type="user", entity_name=None)], key="producer_byte_rate", value=1.5),
    AccessControlEntryRecord(id=A, resource_type=2, resource_name="t", principal="User:a", host="*"),
    UserScramCredentialRecord(name="u", mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096),
    DelegationTokenRecord(owner="User:o", requester="User:o", token_id="id"),
]


def test_what_an_image_holds_makes_an_equal_image():
    image = replayed(EVERYTHING)
    assert vars(replayed(list(image_records(image)))) == vars(image)
    assert image.features == {"metadata.version": 30, "group.version": 1}
    assert image.next_producer_id == 3000
    assert image.client_quotas == {(("user", None),): {"producer_byte_rate": 1.5}}
    assert image.topic_config("t") == {"retention.ms": "1"}
    assert image.collisions == {"x_y": ["x.y"]}
    assert image.brokers[1].active
    assert image.brokers[1].cordoned_log_dirs == []
    assert image.partition("t", 0).eligible_leader_replicas == [2]


def test_a_change_raises_the_leader_epoch_only_when_it_names_a_leader():
    image = replayed([topic(), partition()])
    delta = MetadataDelta()
    replay(image, PartitionChangeRecord(topic_id=A, partition_id=0, isr=[1]), delta)
    replay(image, PartitionChangeRecord(topic_id=A, partition_id=0, leader=1), delta)
    after = image.partition("t", 0)
    assert (after.leader, after.leader_epoch, after.partition_epoch, after.isr) == (1, 1, 2, [1])
    assert [change.leader_changed for change in delta.partitions] == [False, True]
    assert delta.partitions[0].before.isr == [1, 2]


def test_a_change_replaces_the_lists_it_names():
    image = replayed([topic(), partition(removing_replicas=[2])])
    change = PartitionChangeRecord(
        topic_id=A, partition_id=0, replicas=[3], directories=[B], removing_replicas=[], leader_recovery_state=1
    )
    replay(image, change, MetadataDelta())
    after = image.partition("t", 0)
    assert (after.replicas, after.directories, after.removing_replicas, after.isr) == ([3], [B], [], [1, 2])
    assert after.leader_recovery_state == 1
    assert after.directory_of(3) == B
    assert after.directory_of(1) is None


def test_eligible_replicas_are_cleared_for_one_topic_or_all():
    records = [topic(), partition(0, eligible_leader_replicas=[1]), partition(1, last_known_elr=[2]), partition(2)]
    for name in ("t", ""):
        image = replayed([*records, ClearElrRecord(topic_name=name)])
        assert [(p.eligible_leader_replicas, p.last_known_elr) for p in image.topic("t").in_order()] == [([], [])] * 3
        assert [p.partition_epoch for p in image.topic("t").in_order()] == [1, 1, 0]


def test_removals():
    image = replayed(
        [
            *EVERYTHING,
            RemoveTopicRecord(topic_id=A),
            RemoveTopicRecord(topic_id=B),
            UnregisterBrokerRecord(broker_id=1, broker_epoch=5),
            FeatureLevelRecord(name="group.version", feature_level=0),
            ClientQuotaRecord(
                entity=[EntityData(entity_type="user", entity_name=None)], key="producer_byte_rate", remove=True
            ),
            RemoveAccessControlEntryRecord(id=A),
            RemoveUserScramCredentialRecord(name="u", mechanism=1),
            RemoveDelegationTokenRecord(token_id="id"),
        ]
    )
    assert image.features == {"metadata.version": 30}
    for empty in (
        image.topics,
        image.topics_by_id,
        image.configs,
        image.collisions,
        image.brokers,
        image.client_quotas,
        image.acls,
        image.scram,
        image.delegation_tokens,
    ):
        assert empty == {}


def test_fencing_in_both_spellings():
    image = replayed([broker(), UnfenceBrokerRecord(id=1, epoch=5)])
    assert image.brokers[1].active
    replay(image, FenceBrokerRecord(id=1, epoch=5), MetadataDelta())
    assert image.brokers[1].fenced
    replay(image, BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, fenced=-1), MetadataDelta())
    assert image.endpoint(1, "L").port == 9092
    assert image.endpoint(1, "OTHER") is None
    replay(
        image, BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, in_controlled_shutdown=1), MetadataDelta()
    )
    assert not image.brokers[1].fenced
    assert not image.brokers[1].active


@pytest.mark.parametrize(
    "record",
    [
        partition(),
        PartitionChangeRecord(topic_id=A, partition_id=0, leader=1),
        RemoveTopicRecord(topic_id=A),
        FenceBrokerRecord(id=1, epoch=5),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5),
        RemoveAccessControlEntryRecord(id=A),
        RemoveUserScramCredentialRecord(name="u", mechanism=1),
        ClearElrRecord(topic_name="t"),
        AbortTransactionRecord(),
    ],
)
def test_records_that_cannot_be(record):
    with pytest.raises(ReplayError):
        replay(MetadataImage(), record, MetadataDelta())


def test_a_record_for_another_registration_of_the_broker():
    with pytest.raises(ReplayError, match="epoch 4 of broker 1, which is registered with 5"):
        replayed([broker(), FenceBrokerRecord(id=1, epoch=4)])


def test_partitions_of_any_numbers_are_listed_in_order() -> None:
    image = MetadataImage("c")
    replay(image, TopicRecord(name="t", topic_id=bytes(16)), MetadataDelta())
    for index in (7, 2):
        replay(image, PartitionRecord(partition_id=index, topic_id=bytes(16)), MetadataDelta())
    assert [each.index for each in image.topics["t"].in_order()] == [2, 7]


def test_an_entity_that_names_a_kind_twice_has_the_last() -> None:
    """As in Apache Kafka, where it is a map."""
    names = [EntityData(entity_type="user", entity_name=name) for name in ("a", None)]
    image = MetadataImage("c")
    replay(image, ClientQuotaRecord(entity=names, key="producer_byte_rate", value=1.5), MetadataDelta())
    assert list(image.client_quotas) == [(("user", None),)]
