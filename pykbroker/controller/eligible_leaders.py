"""Eligible leader replicas, ELR (KIP-966): who, beside the ISR, has every record that was ever acknowledged.

While the ISR is smaller than ``min.insync.replicas``, nothing is acknowledged with acks=all, so a replica that left it
meanwhile has missed nothing and may lead again. Replicas that share one store miss nothing at any time, so the list says
too little here and never too much; it is kept for clients, and for Apache Kafka when it takes over the log directory. The rules are
those of PartitionChangeBuilder and ConfigurationControlManager, Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
from pykbroker.wire.internal.clear_elr_record import ClearElrRecord
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

MIN_ISR: Final = "min.insync.replicas"


def is_enabled(image: MetadataImage) -> bool:
    """True where the cluster's level of eligible.leader.replicas.version is 1."""
    return image.features.get(ELR_VERSION, 0) > 0


def living_isr(image: MetadataImage, partition: PartitionImage, alive: set[int]) -> list[int]:
    """The replicas in sync when the brokers in ``alive`` live: all that live. Where none does, the last ISR stays for the time
    after, unless eligible replicas are kept: then it is empty, and they are the list's.
    """
    isr = [replica for replica in partition.replicas if replica in alive]
    return isr if isr or is_enabled(image) else partition.isr


def note_eligible(
    image: MetadataImage, topic: TopicImage, before: PartitionImage, record: PartitionChangeRecord
) -> None:
    """Say in a change of a partition who is eligible after it, and who led last when nobody does any more."""
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
    """What must be written before the feature is on: all brokers have one ``min.insync.replicas``, and none its own."""
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
    """Refuse what would give brokers different ``min.insync.replicas``, or none, while the feature is on. Raises KafkaError
    INVALID_CONFIG.
    """
    if resource_type != BROKER_RESOURCE or MIN_ISR not in changed or not is_enabled(image):
        return
    if name:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if changed[MIN_ISR] is None:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")


def clearing_records(image: MetadataImage, settings: list[ConfigRecord]) -> list[ClearElrRecord]:
    """The records that empty the lists of those topics whose ``min.insync.replicas`` these settings change: with another
    number, who was eligible may have missed records.
    """
    if not is_enabled(image):
        return []
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
