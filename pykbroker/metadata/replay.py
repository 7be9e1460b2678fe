"""Replays metadata records into the image, after a commit and when the log is loaded; nothing else changes the image.

Meaning of the records: schemas of kafka-metadata 4.4.0, KIP-631, KIP-858 (directories), KIP-966 (eligible leader replicas). A
record that contradicts the image is an error, since its effect is unknown. One function for each kind of record.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.metadata.delta import MetadataDelta, PartitionChange
from pykbroker.metadata.image import (
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
    BrokerImage,
    Endpoint,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from pykbroker.metadata.names import collision_key

if TYPE_CHECKING:  # the table is keyed by record type: only the classes that occur in the log are imported
    from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord
    from pykbroker.wire.internal.broker_registration_change_record import BrokerRegistrationChangeRecord
    from pykbroker.wire.internal.clear_elr_record import ClearElrRecord
    from pykbroker.wire.internal.client_quota_record import ClientQuotaRecord
    from pykbroker.wire.internal.config_record import ConfigRecord
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
    from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
    from pykbroker.wire.internal.fence_broker_record import FenceBrokerRecord
    from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
    from pykbroker.wire.internal.partition_record import PartitionRecord
    from pykbroker.wire.internal.producer_ids_record import ProducerIdsRecord
    from pykbroker.wire.internal.register_broker_record import RegisterBrokerRecord
    from pykbroker.wire.internal.register_controller_record import RegisterControllerRecord
    from pykbroker.wire.internal.remove_access_control_entry_record import RemoveAccessControlEntryRecord
    from pykbroker.wire.internal.remove_delegation_token_record import RemoveDelegationTokenRecord
    from pykbroker.wire.internal.remove_topic_record import RemoveTopicRecord
    from pykbroker.wire.internal.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
    from pykbroker.wire.internal.topic_record import TopicRecord
    from pykbroker.wire.internal.unfence_broker_record import UnfenceBrokerRecord
    from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord
    from pykbroker.wire.internal.unregister_controller_record import UnregisterControllerRecord
    from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord

K = TypeVar("K")
V = TypeVar("V")

#: PartitionChangeRecord.leader: the leader does not change.
NO_LEADER_CHANGE = -2

MetadataRecord = Any  # one of the generated record classes below; they share no base


class ReplayError(RuntimeError):
    """A record contradicts the image, for instance by naming a topic or broker that does not exist."""


def replay(image: MetadataImage, record: MetadataRecord, delta: MetadataDelta) -> None:
    """Apply one record to the image and note in ``delta`` what changed. Raises ReplayError."""
    apply = _REPLAY.get(record.API_KEY)
    if apply is None:
        raise ReplayError(f"a {type(record).__name__} cannot stand in a metadata log of this version")
    apply(image, record, delta)


def _topic(image: MetadataImage, record: TopicRecord, delta: MetadataDelta) -> None:
    add_topic(image, TopicImage(record.name, record.topic_id), delta)


def add_topic(image: MetadataImage, topic: TopicImage, delta: MetadataDelta) -> None:
    """Put a new topic, which may have its partitions already, into the image."""
    image.topics[topic.name] = topic
    image.topics_by_id[topic.id] = topic
    key = collision_key(topic.name)
    if key is not None:
        image.collisions.setdefault(key, []).append(topic.name)
    delta.created_topics.append(topic)


def _remove_topic(image: MetadataImage, record: RemoveTopicRecord, delta: MetadataDelta) -> None:
    topic = image.topics_by_id.pop(record.topic_id, None)
    if topic is None:
        raise ReplayError(f"a topic to remove is unknown: {record.topic_id.hex()}")
    del image.topics[topic.name]
    key = collision_key(topic.name)
    if key is not None:
        alike = image.collisions[key]
        alike.remove(topic.name)
        if not alike:
            del image.collisions[key]
    if image.configs.pop((TOPIC_RESOURCE, topic.name), None) is not None:
        delta.configs.add((TOPIC_RESOURCE, topic.name))
    delta.deleted_topics.append(topic)


def _partition(image: MetadataImage, record: PartitionRecord, delta: MetadataDelta) -> None:
    topic = _topic_of(image, record)
    partition = new_partition(record)
    delta.partitions.append(PartitionChange(topic, topic.partitions.get(partition.index), partition))
    topic.partitions[partition.index] = partition


def new_partition(record: PartitionRecord) -> PartitionImage:
    """The partition of a record."""
    return PartitionImage(
        record.partition_id,
        record.replicas,
        record.isr,
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        record.directories,
        record.removing_replicas,
        record.adding_replicas,
        record.leader_recovery_state,
        record.eligible_leader_replicas or [],
        record.last_known_elr or [],
    )


def _partition_change(image: MetadataImage, record: PartitionChangeRecord, delta: MetadataDelta) -> None:
    topic = _topic_of(image, record)
    before = topic.partitions.get(record.partition_id)
    if before is None:
        raise ReplayError(f"a change for {topic.name}-{record.partition_id}, which does not exist")
    after = changed(before, record)
    topic.partitions[record.partition_id] = after
    delta.partitions.append(PartitionChange(topic, before, after))


def changed(before: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """The partition after a change: each raises the partition epoch; only one that names a leader raises the leader epoch."""
    after = PartitionImage(
        before.index,
        before.replicas,
        before.isr,
        before.leader,
        before.leader_epoch,
        before.partition_epoch + 1,
        before.directories,
        before.removing_replicas,
        before.adding_replicas,
        before.leader_recovery_state,
        before.eligible_leader_replicas,
        before.last_known_elr,
    )
    if record.leader != NO_LEADER_CHANGE:
        after.leader = record.leader
        after.leader_epoch = before.leader_epoch + 1
    if record.leader_recovery_state != -1:
        after.leader_recovery_state = record.leader_recovery_state
    for name in _REPLACED_LISTS:
        value = getattr(record, name)
        if value is not None:
            setattr(after, name, value)
    return after


_REPLACED_LISTS = (
    "replicas",
    "isr",
    "removing_replicas",
    "adding_replicas",
    "directories",
    "eligible_leader_replicas",
    "last_known_elr",
)


def _clear_elr(image: MetadataImage, record: ClearElrRecord, delta: MetadataDelta) -> None:
    """An empty topic name means every topic."""
    if not record.topic_name:
        topics = list(image.topics.values())
    elif record.topic_name in image.topics:
        topics = [image.topics[record.topic_name]]
    else:
        raise ReplayError(f"eligible replicas to clear of an unknown topic {record.topic_name}")
    for topic in topics:
        for before in list(topic.partitions.values()):
            if before.eligible_leader_replicas or before.last_known_elr:
                after = dataclasses.replace(before, eligible_leader_replicas=[], last_known_elr=[])
                after.partition_epoch += 1
                topic.partitions[after.index] = after
                delta.partitions.append(PartitionChange(topic, before, after))


def _topic_of(image: MetadataImage, record: PartitionRecord | PartitionChangeRecord) -> TopicImage:
    topic = image.topics_by_id.get(record.topic_id)
    if topic is None:
        raise ReplayError(f"a record for partition {record.partition_id} of an unknown topic {record.topic_id.hex()}")
    return topic


def _register_broker(image: MetadataImage, record: RegisterBrokerRecord, delta: MetadataDelta) -> None:
    image.brokers[record.broker_id] = BrokerImage(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        {e.name: Endpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points},
        {f.name: (f.min_supported_version, f.max_supported_version) for f in record.features},
        record.rack,
        record.fenced,
        record.in_controlled_shutdown,
        record.log_dirs,
        record.cordoned_log_dirs,
    )
    delta.brokers.add(record.broker_id)


def _unregister_broker(image: MetadataImage, record: UnregisterBrokerRecord, delta: MetadataDelta) -> None:
    broker = _broker_of(image, record.broker_id, record.broker_epoch)
    del image.brokers[broker.id]
    delta.brokers.add(broker.id)


def _fence_broker(image: MetadataImage, record: FenceBrokerRecord, delta: MetadataDelta) -> None:
    broker = _broker_of(image, record.id, record.epoch)
    _replace_broker(image, delta, broker, fenced=True)


def _unfence_broker(image: MetadataImage, record: UnfenceBrokerRecord, delta: MetadataDelta) -> None:
    broker = _broker_of(image, record.id, record.epoch)
    _replace_broker(image, delta, broker, fenced=False)


def _broker_change(image: MetadataImage, record: BrokerRegistrationChangeRecord, delta: MetadataDelta) -> None:
    """``fenced``: 1 fences, -1 unfences, 0 changes nothing; ``in_controlled_shutdown``: 1 begins it."""
    broker = _broker_of(image, record.broker_id, record.broker_epoch)
    _replace_broker(
        image,
        delta,
        broker,
        fenced=broker.fenced if record.fenced == 0 else record.fenced > 0,
        in_controlled_shutdown=broker.in_controlled_shutdown
        if record.in_controlled_shutdown == 0
        else record.in_controlled_shutdown > 0,
        log_dirs=record.log_dirs or broker.log_dirs,
        cordoned_log_dirs=broker.cordoned_log_dirs if record.cordoned_log_dirs is None else record.cordoned_log_dirs,
    )


def _replace_broker(image: MetadataImage, delta: MetadataDelta, broker: BrokerImage, **changes: Any) -> None:
    image.brokers[broker.id] = dataclasses.replace(broker, **changes)
    delta.brokers.add(broker.id)


def _broker_of(image: MetadataImage, broker_id: int, epoch: int) -> BrokerImage:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise ReplayError(f"a record for broker {broker_id}, which is not registered")
    if broker.epoch != epoch:
        raise ReplayError(f"a record for epoch {epoch} of broker {broker_id}, which is registered with {broker.epoch}")
    return broker


def _config(image: MetadataImage, record: ConfigRecord, delta: MetadataDelta) -> None:
    """A null value removes the setting."""
    resource = (record.resource_type, record.resource_name)
    _alter(image.configs, resource, record.name, record.value)
    if record.resource_type == CLIENT_METRICS_RESOURCE:
        _alter(image.client_metrics, record.resource_name, record.name, record.value)
    delta.configs.add(resource)


def _alter(all_settings: dict[K, dict[str, V]], key: K, name: str, value: V | None) -> None:
    """Set one setting of ``key``, or remove it, in a copy: readers keep the mapping that they have. One without settings is removed."""
    settings = dict(all_settings.get(key, {}))
    if value is None:
        settings.pop(name, None)
    else:
        settings[name] = value
    if settings:
        all_settings[key] = settings
    else:
        all_settings.pop(key, None)


def _feature(image: MetadataImage, record: FeatureLevelRecord, delta: MetadataDelta) -> None:
    if record.feature_level:
        image.features[record.name] = record.feature_level
    else:
        image.features.pop(record.name, None)
    delta.features.add(record.name)


def _producer_ids(image: MetadataImage, record: ProducerIdsRecord, delta: MetadataDelta) -> None:
    del delta  # no result is needed
    image.next_producer_id = record.next_producer_id


def _client_quota(image: MetadataImage, record: ClientQuotaRecord, delta: MetadataDelta) -> None:
    entity = tuple(sorted({part.entity_type: part.entity_name for part in record.entity}.items()))
    _alter(image.client_quotas, entity, record.key, None if record.remove else record.value)
    delta.client_quotas.add(entity)


def _acl(image: MetadataImage, record: AccessControlEntryRecord, delta: MetadataDelta) -> None:
    image.acls[record.id] = record
    delta.acls.append((record, True))


def _remove_acl(image: MetadataImage, record: RemoveAccessControlEntryRecord, delta: MetadataDelta) -> None:
    removed = image.acls.pop(record.id, None)
    if removed is None:
        raise ReplayError(f"an access rule to remove is unknown: {record.id.hex()}")
    delta.acls.append((removed, False))


def _scram(image: MetadataImage, record: UserScramCredentialRecord, delta: MetadataDelta) -> None:
    image.scram[record.name, record.mechanism] = record
    delta.scram = True


def _remove_scram(image: MetadataImage, record: RemoveUserScramCredentialRecord, delta: MetadataDelta) -> None:
    if image.scram.pop((record.name, record.mechanism), None) is None:
        raise ReplayError(f"a SCRAM credential to remove is unknown: {record.name}")
    delta.scram = True


def _delegation_token(image: MetadataImage, record: DelegationTokenRecord, delta: MetadataDelta) -> None:
    image.delegation_tokens[record.token_id] = record
    delta.delegation_tokens.append((record.token_id, True))


def _remove_delegation_token(image: MetadataImage, record: RemoveDelegationTokenRecord, delta: MetadataDelta) -> None:
    image.delegation_tokens.pop(record.token_id, None)
    delta.delegation_tokens.append((record.token_id, False))


def _register_controller(image: MetadataImage, record: RegisterControllerRecord, delta: MetadataDelta) -> None:
    del delta  # the controller of this process has no registration
    image.controllers[record.controller_id] = record


def _unregister_controller(image: MetadataImage, record: UnregisterControllerRecord, delta: MetadataDelta) -> None:
    del delta  # as above
    if image.controllers.pop(record.controller_id, None) is None:
        raise ReplayError(f"a record for controller {record.controller_id}, which is not registered")


def _nothing(image: MetadataImage, record: MetadataRecord, delta: MetadataDelta) -> None:
    """Records without effect: no-ops of a quorum, and ZooKeeper migrations, which 4.x has not."""


#: By the record's key in the metadata log (``apiKey`` of its schema).
_REPLAY: dict[int, Callable[[MetadataImage, Any, MetadataDelta], None]] = {
    0: _register_broker,
    1: _unregister_broker,
    2: _topic,
    3: _partition,
    4: _config,
    5: _partition_change,
    7: _fence_broker,
    8: _unfence_broker,
    9: _remove_topic,
    10: _delegation_token,
    11: _scram,
    12: _feature,
    14: _client_quota,
    15: _producer_ids,
    17: _broker_change,
    18: _acl,
    19: _remove_acl,
    20: _nothing,  # NoOpRecord
    21: _nothing,  # ZkMigrationStateRecord
    22: _remove_scram,
    26: _remove_delegation_token,
    27: _register_controller,
    28: _clear_elr,
    29: _unregister_controller,
}
