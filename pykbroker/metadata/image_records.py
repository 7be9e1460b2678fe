"""The records that describe an image: the content of a snapshot, in Kafka's order."""

from __future__ import annotations

from collections.abc import Iterator

from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.image import BrokerImage, MetadataImage, PartitionImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.internal.client_quota_record import ClientQuotaRecord, EntityData
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.internal.partition_record import PartitionRecord
from pykbroker.wire.internal.producer_ids_record import ProducerIdsRecord
from pykbroker.wire.internal.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from pykbroker.wire.internal.topic_record import TopicRecord


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Records that, replayed in order, give an equal image. metadata.version comes first, since it governs the others."""
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])
    for broker in image.brokers.values():
        yield broker_record(broker)
    yield from image.controllers.values()
    for topic in image.topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for partition in topic.in_order():
            yield partition_record(topic.id, partition)
    for (resource_type, resource), settings in image.configs.items():
        for name, value in settings.items():
            yield ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
    for entity, quotas in image.client_quotas.items():
        for key, quota in quotas.items():
            parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            yield ClientQuotaRecord(entity=parts, key=key, value=quota, remove=False)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    yield from image.acls.values()
    yield from image.scram.values()
    yield from image.delegation_tokens.values()


def partition_record(topic_id: bytes, partition: PartitionImage) -> PartitionRecord:
    """The record of a partition."""
    return PartitionRecord(
        partition_id=partition.index,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories,
        eligible_leader_replicas=partition.eligible_leader_replicas or None,
        last_known_elr=partition.last_known_elr or None,
    )


def broker_record(broker: BrokerImage) -> RegisterBrokerRecord:
    """The record of a broker's registration."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in broker.endpoints.values()
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs,
    )
