"""Requests of brokers in other processes to the controller: registration, heartbeats, and the log directories of replicas.

Rules and messages: ClusterControlManager and ReplicationControlManager of Kafka 4.4.0 (KIP-631, KIP-858, KIP-966).
"""

from __future__ import annotations

from collections.abc import Generator

from pykbroker.controller.broker_sessions import BrokerSessions, ControlState
from pykbroker.controller.partition_changes import Target
from pykbroker.controller.registrations import check_epoch, cordoning, cordons_others, fencing, leaving, unfencing
from pykbroker.controller.replication_control import ReplicationControl
from pykbroker.metadata.features import KRAFT_VERSION, METADATA_VERSION
from pykbroker.metadata.ids import is_reserved
from pykbroker.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from pykbroker.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)
from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest
from pykbroker.wire.primitives import uuid_to_str

_WITH_PREVIOUS_EPOCH = 3  # the request's version
#: The weight of a partition whose directory is assigned (``runtime/slices.py``).
_PARTITION_WEIGHT = 1


class RemoteBrokers:
    """Plans on one image; ``sessions`` are those of all brokers in other processes."""

    def __init__(self, control: ReplicationControl, sessions: BrokerSessions) -> None:
        self._control = control
        self._image: MetadataImage = control.image
        self._sessions = sessions

    def register(
        self, request: BrokerRegistrationRequest, version: int, offset: int, now_ms: int
    ) -> Generator[float, None, tuple[list[MetadataRecord], int, int]]:
        """The records of a registration whose first record gets ``offset``, the broker epoch, and the offset of the
        registration's own record. ``version`` is the request's.

        Raises KafkaError INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, BROKER_ID_NOT_REGISTERED, INVALID_REGISTRATION or
        UNSUPPORTED_VERSION.
        """
        image, broker_id = self._image, request.broker_id
        if request.cluster_id != image.cluster_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {image.cluster_id}, but got cluster ID {request.cluster_id}",
            )
        existing = image.brokers.get(broker_id)
        amends = existing is not None and existing.incarnation_id == request.incarnation_id
        if existing is not None and not amends and self._has_session(existing, now_ms):
            raise KafkaError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session.",
            )
        if request.is_migrating_zk_broker:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
        self._check_directories(request)
        self._check_features(request)
        if existing is not None and amends:
            record = _registration(request, existing.epoch)
            record.fenced, record.in_controlled_shutdown = existing.fenced, existing.in_controlled_shutdown
            return [record], existing.epoch, offset
        known = -2 if existing is None else existing.epoch
        clean = version >= _WITH_PREVIOUS_EPOCH and request.previous_broker_epoch == known
        changes = yield from self._control.without(broker_id) if clean else self._control.lost(broker_id)
        return [*changes, _registration(request, offset)], offset, offset + len(changes)

    def heartbeat(
        self, request: BrokerHeartbeatRequest
    ) -> Generator[float, None, tuple[list[MetadataRecord], ControlState]]:
        """The records of a heartbeat, and the broker's state from then on. Raises KafkaError STALE_BROKER_EPOCH."""
        image, broker_id = self._image, request.broker_id
        if broker_id not in self._sessions:
            raise KafkaError(
                ErrorCode.STALE_BROKER_EPOCH, f"Receive a heartbeat from broker {broker_id} before registration"
            )
        check_epoch(image, broker_id, request.broker_epoch)
        broker, control = image.brokers[broker_id], self._control
        state, following = self._sessions.decide(broker, request, lambda: control.leads(broker_id))
        records: list[MetadataRecord] = []
        if state is not following:
            if following.fenced:
                records += [*(yield from control.without(broker_id)), fencing(broker)]
            elif following is ControlState.UNFENCED:
                records += [unfencing(broker), *(yield from control.unfenced(broker_id))]
            else:
                if not broker.in_controlled_shutdown:
                    records.append(leaving(broker))
                records += yield from control.without(broker_id)
        return [*records, *(yield from self._directories_of(broker, request))], following

    def _directories_of(
        self, broker: BrokerImage, request: BrokerHeartbeatRequest
    ) -> Generator[float, None, list[MetadataRecord]]:
        records = yield from self._control.offline(broker, request.offline_log_dirs)
        if cordons_others(self._image, broker, request.cordoned_log_dirs):
            records.append(cordoning(broker, request.cordoned_log_dirs or ()))
        return records

    def assign(
        self, request: AssignReplicasToDirsRequest
    ) -> Generator[float, None, tuple[list[MetadataRecord], AssignReplicasToDirsResponse]]:
        """The records that note the log directories of a broker's replicas, and the answer. Raises KafkaError STALE_BROKER_EPOCH."""
        check_epoch(self._image, request.broker_id, request.broker_epoch)
        broker = self._image.brokers[request.broker_id]
        records: list[MetadataRecord] = []
        failed: dict[tuple[bytes, int], tuple[TopicImage, PartitionImage]] = {}
        response = AssignReplicasToDirsResponse()
        for asked in request.directories:
            online = broker.has_online(asked.id)
            answer = AssignReplicasToDirsResponseDirectoryData(asked.id)
            response.directories.append(answer)
            for topic in asked.topics:
                results = AssignReplicasToDirsResponseTopicData(topic.topic_id)
                answer.topics.append(results)
                for partition in topic.partitions:
                    found = self._assignable(broker, topic.topic_id, partition.partition_index)
                    result = AssignReplicasToDirsResponsePartitionData(partition.partition_index)
                    results.partitions.append(result)
                    yield _PARTITION_WEIGHT
                    if isinstance(found, ErrorCode):
                        result.error_code = found
                        continue
                    target = Target.of(found[1])
                    target.directories[broker.id] = asked.id
                    record = self._control.change(*found, target)
                    if record is not None:
                        records.append(record)
                    if not online:
                        failed[topic.topic_id, partition.partition_index] = found
        return [*records, *(yield from self._control.without_in(broker.id, failed.values()))], response

    def _assignable(
        self, broker: BrokerImage, topic_id: bytes, index: int
    ) -> tuple[TopicImage, PartitionImage] | ErrorCode:
        topic = self._image.topic_by_id(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return (topic, partition) if broker.id in partition.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _has_session(self, broker: BrokerImage, now_ms: int) -> bool:
        """Whether a broker has a session, or is one of the controller's own process that runs."""
        if broker.id in self._sessions:
            return self._sessions.is_valid(broker.id, now_ms)
        return not broker.fenced

    def _check_directories(self, request: BrokerRegistrationRequest) -> None:
        directories = request.log_dirs
        if not directories:
            raise _invalid("No directories specified in request")
        if any(map(is_reserved, directories)):
            raise _invalid("Reserved directory ID in request")
        if len(set(directories)) != len(directories):
            raise _invalid("Duplicate directory ID in request")
        for other in self._image.brokers.values():
            for directory in other.log_dirs if other.id != request.broker_id else ():
                if directory in directories:
                    raise _invalid(f"Broker {other.id} is already registered with directory {uuid_to_str(directory)}")

    def _check_features(self, request: BrokerRegistrationRequest) -> None:
        """A broker must support every finalized level; one that it does not name it supports at 0 only."""
        finalized = {**self._image.features, KRAFT_VERSION: self._image.kraft_version}
        named = {
            feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in request.features
        }
        for name, (low, high) in named.items():
            _check_level(name, finalized.get(name, 0), low, high)
        if METADATA_VERSION not in named:
            raise _invalid("Request features do not contain 'metadata.version'")
        for name, level in finalized.items():
            if level and name not in named:
                _check_level(name, level, 0, 0)


def _check_level(name: str, level: int, low: int, high: int) -> None:
    if not low <= level <= high:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Unable to register because the broker does not support finalized version {level} of {name}. The broker "
            f"wants a version between {low} and {high}, inclusive.",
        )


def _registration(request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
        rack=request.rack,
        fenced=True,
        log_dirs=list(request.log_dirs),
    )


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGISTRATION, reason)
