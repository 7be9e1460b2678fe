"""The cluster as the metadata log describes it up to one offset.

There is one image in a process, and only ``replay.py`` changes it. Its objects (partitions, brokers) are replaced and never
altered in place, so a reader may keep one. Readers run on the loop, between changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pykbroker.metadata.ids import LOST, MIGRATING, UNASSIGNED
from pykbroker.metadata.names import is_internal

if TYPE_CHECKING:
    from pykbroker.wire.internal.access_control_entry_record import AccessControlEntryRecord
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
    from pykbroker.wire.internal.register_controller_record import RegisterControllerRecord
    from pykbroker.wire.internal.user_scram_credential_record import UserScramCredentialRecord

#: ConfigRecord.resource_type, as org.apache.kafka.common.config.ConfigResource.Type numbers them.
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
BROKER_LOGGER_RESOURCE = 8
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32

NO_LEADER = -1


@dataclass(slots=True)
class PartitionImage:
    """The replicas, ISR and leader of a partition. Replaced on change, never altered."""

    index: int
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: list[bytes]
    removing_replicas: list[int] = field(default_factory=list)
    adding_replicas: list[int] = field(default_factory=list)
    leader_recovery_state: int = 0
    eligible_leader_replicas: list[int] = field(default_factory=list)
    last_known_elr: list[int] = field(default_factory=list)

    def directory_of(self, broker_id: int) -> bytes | None:
        """The id of the log directory of ``broker_id``'s replica, as far as it is known."""
        if broker_id in self.replicas and len(self.directories) == len(self.replicas):
            return self.directories[self.replicas.index(broker_id)]
        return None


@dataclass(slots=True)
class TopicImage:
    """A topic. Its partitions are numbered from 0 without gaps; ``partitions`` maps index to partition."""

    name: str
    id: bytes
    partitions: dict[int, PartitionImage] = field(default_factory=dict)

    @property
    def internal(self) -> bool:
        """True for the topics in which brokers keep their own state."""
        return is_internal(self.name)

    def in_order(self) -> Iterator[PartitionImage]:
        """The partitions in the order of their indexes."""
        partitions = self.partitions
        return (partitions[index] for index in sorted(partitions))


@dataclass(slots=True)
class Endpoint:
    """A broker's advertised endpoint on one listener. ``security_protocol`` has SecurityProtocol's ids."""

    listener: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(slots=True)
class BrokerImage:
    """A registered broker. Replaced on change, never altered."""

    id: int
    epoch: int
    incarnation_id: bytes
    endpoints: dict[str, Endpoint]
    features: dict[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool = False
    log_dirs: list[bytes] = field(default_factory=list)
    cordoned_log_dirs: list[bytes] | None = None

    @property
    def active(self) -> bool:
        """True if the broker may lead and get replicas: neither fenced nor in a controlled shutdown."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_replicas(self) -> bool:
        """False if all its log directories are cordoned (KIP-1066)."""
        return not self.log_dirs or not set(self.log_dirs) <= set(self.cordoned_log_dirs or ())

    def has_online(self, directory: bytes) -> bool:
        """Whether a replica in this log directory can be served, as far as the metadata say."""
        if directory in (UNASSIGNED, MIGRATING):
            return True
        return directory != LOST and (not self.log_dirs or directory in self.log_dirs)


class MetadataImage:
    """The state of the cluster."""

    def __init__(self, cluster_id: str = "") -> None:
        self.cluster_id = cluster_id
        #: The offset of the last replayed record; -1 before the first. It grows with every change, so caches may compare it.
        self.offset = -1
        self.epoch = -1
        self.topics: dict[str, TopicImage] = {}
        self.topics_by_id: dict[bytes, TopicImage] = {}
        self.brokers: dict[int, BrokerImage] = {}
        #: (resource type, name) -> its settings; an entry disappears with its last setting.
        self.configs: dict[tuple[int, str], dict[str, str]] = {}
        #: The subscriptions of client metrics among them, by name.
        self.client_metrics: dict[str, dict[str, str]] = {}
        #: Finalized feature levels; level 0 is absence.
        self.features: dict[str, int] = {}
        #: The level of kraft.version, which control records of the log set.
        self.kraft_version = 0
        self.next_producer_id = 0
        #: ((entity type, entity name or None), ...) sorted by type -> quota key -> value.
        self.client_quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
        self.acls: dict[bytes, AccessControlEntryRecord] = {}
        #: (user, mechanism) -> credential.
        self.scram: dict[tuple[str, int], UserScramCredentialRecord] = {}
        self.delegation_tokens: dict[str, DelegationTokenRecord] = {}
        self.controllers: dict[int, RegisterControllerRecord] = {}
        #: Names with '.' or '_' that look alike in metrics (see ``names.collision_key``).
        self.collisions: dict[str, list[str]] = {}

    def become(self, other: MetadataImage) -> None:
        """Have what ``other`` has, as after a snapshot: readers keep this object. ``other`` is not used any more."""
        vars(self).update(vars(other))

    def topic(self, name: str) -> TopicImage | None:
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self.topics_by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> PartitionImage | None:
        """The partition, or None."""
        found = self.topics.get(topic)
        return None if found is None else found.partitions.get(index)

    def has_partition(self, topic: str, index: int) -> bool:
        """Whether a partition exists."""
        found = self.topics.get(topic)
        return found is not None and index in found.partitions

    def config(self, resource_type: int, name: str) -> dict[str, str]:
        """The settings of a resource; read-only."""
        return self.configs.get((resource_type, name), {})

    def topic_config(self, topic: str) -> dict[str, str]:
        """The settings of a topic; read-only."""
        return self.configs.get((TOPIC_RESOURCE, topic), {})

    def active_brokers(self) -> list[BrokerImage]:
        """Brokers that are registered and not fenced, by id."""
        return [self.brokers[i] for i in sorted(self.brokers) if not self.brokers[i].fenced]

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """The broker's endpoint on ``listener``; None if it is unknown, fenced or has no such listener."""
        broker = self.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker.endpoints.get(listener)

    def offline_replicas(self, partition: PartitionImage, listener: str) -> list[int]:
        """Replicas whose broker is unregistered, fenced, or without ``listener``, and those in log directories that have failed."""
        return [replica for replica in partition.replicas if not self._is_online(replica, partition, listener)]

    def _is_online(self, broker_id: int, partition: PartitionImage, listener: str) -> bool:
        broker = self.brokers.get(broker_id)
        if broker is None or broker.fenced or listener not in broker.endpoints:
            return False
        return broker.has_online(partition.directory_of(broker_id) or MIGRATING)

    def controller_for_clients(self) -> int:
        """A running broker that answers name as the controller (KIP-631); -1 if there is none."""
        return min((broker.id for broker in self.brokers.values() if not broker.fenced), default=-1)
