"""Eligible leader replicas, ELR (KIP-966): replicas outside the ISR that have every acknowledged record.

While the ISR is smaller than ``min.insync.replicas``, nothing is acknowledged with acks=all, so a replica that left it
meanwhile has missed nothing and may lead again. Replicas here share one store and never miss anything, so the list is too
short at most; it is kept for clients, and for Apache Kafka on the same log directory. Rules: PartitionChangeBuilder and
ConfigurationControlManager of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.metadata.features import ELR_VERSION
from pykbroker.metadata.image import (
    BROKER_RESOURCE,
    NO_LEADER,
    TOPIC_RESOURCE,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord

if TYPE_CHECKING:
    from pykbroker.wire.internal.clear_elr_record import ClearElrRecord
    from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

MIN_ISR: Final = "min.insync.replicas"


def is_enabled(image: MetadataImage) -> bool:
    """True if the cluster's level of eligible.leader.replicas.version is 1."""
    return image.features.get(ELR_VERSION, 0) > 0


def living_isr(image: MetadataImage, partition: PartitionImage, alive: set[int]) -> list[int]:
    """The ISR when the brokers in ``alive`` run: all running replicas. If none runs, the last ISR stays, unless ELR is
    enabled: then the ISR is empty, and the ELR has its replicas.
    """
    isr = [replica for replica in partition.replicas if replica in alive]
    return isr if isr or is_enabled(image) else partition.isr


def note_eligible(
    image: MetadataImage, topic: TopicImage, before: PartitionImage, record: PartitionChangeRecord
) -> None:
    """Set the ELR in a partition's change, and the last known leader if there is no leader."""
    enabled = is_enabled(image)
    isr = before.isr if record.isr is None else record.isr
    replicas = before.replicas if record.replicas is None else record.replicas
    eligible: list[int] = []
    if enabled and len(isr) < min(_min_isr(image, topic), len(replicas)):
        eligible = sorted({*before.eligible_leader_replicas, *before.isr}.intersection(replicas).difference(isr))
    if eligible != before.eligible_leader_replicas:
        record.eligible_leader_replicas = eligible
    if not enabled:
        return
    if record.leader == NO_LEADER and not before.last_known_elr:
        record.last_known_elr = [before.leader]
    elif record.leader >= 0 and before.last_known_elr:
        record.last_known_elr = []


def safety_records(image: MetadataImage, static_min_isr: int) -> list[ConfigRecord]:
    """The records required before the feature is enabled: one cluster-wide ``min.insync.replicas``, and none per broker."""
    records = []
    if MIN_ISR not in image.config(BROKER_RESOURCE, ""):
        records.append(_min_isr_record("", str(static_min_isr)))
    records += (
        _min_isr_record(name, None)
        for (kind, name), settings in image.configs.items()
        if kind == BROKER_RESOURCE and name and MIN_ISR in settings
    )
    return records


def check_min_isr(image: MetadataImage, resource_type: int, name: str, changed: Mapping[str, str | None]) -> None:
    """Raises KafkaError INVALID_CONFIG for a change that gives brokers different ``min.insync.replicas``, or none, while the
    feature is enabled.
    """
    if resource_type != BROKER_RESOURCE or MIN_ISR not in changed or not is_enabled(image):
        return
    if name:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if changed[MIN_ISR] is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")


def clearing_records(image: MetadataImage, settings: list[ConfigRecord]) -> list[ClearElrRecord]:
    """The records that clear the ELR of topics whose ``min.insync.replicas`` these settings change: under another value,
    eligible replicas may have missed records.
    """
    if not is_enabled(image):
        return []
    from pykbroker.wire.internal.clear_elr_record import ClearElrRecord

    return [
        ClearElrRecord(topic_name=setting.resource_name if setting.resource_type == TOPIC_RESOURCE else "")
        for setting in settings
        if setting.name == MIN_ISR
    ]


def _min_isr(image: MetadataImage, topic: TopicImage) -> int:
    of_all = image.config(BROKER_RESOURCE, "").get(MIN_ISR, "1")
    return int(image.topic_config(topic.name).get(MIN_ISR, of_all))


def _min_isr_record(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=broker, name=MIN_ISR, value=value)
