"""The port to the controller, in this process or elsewhere: each method returns a wait for the answer.

Arguments and answers are values: all that is in them can be encoded, and nothing in them can be called (a test sends each call and
answer through bytes).

An answer comes when the change is durable and published in the image. Every wait may fail with KafkaError
KAFKA_STORAGE_ERROR if the metadata log cannot be written: then nothing has changed. ``controller.py`` implements the port in
this process; an implementation over the network would not change its callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.controller.client_quotas import Entity, QuotaAlteration
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.controller.delegation_tokens import NewToken
    from pykbroker.controller.elections import ElectionType
    from pykbroker.controller.feature_updates import FeatureUpdate
    from pykbroker.controller.metadata_quorum import QuorumDescription
    from pykbroker.controller.mutation_quotas import Charged, ChargedClient
    from pykbroker.controller.reassignments import Reassignment
    from pykbroker.controller.registrations import BrokerRegistration
    from pykbroker.controller.scram import Deletion, Upsertion
    from pykbroker.controller.topics import NewPartitions, NewTopic, TopicResult
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.acl import Acl, AclFilter
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
    from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from pykbroker.wire.messages.assign_replicas_to_dirs import (
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponse,
    )
    from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
    from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest


class ControllerPort(Protocol):
    """See the module."""

    # Brokers

    def start_broker(self, broker: BrokerRegistration, /) -> Deferred[int]:
        """Register one broker while the others run; returns its broker epoch.

        Its replicas are in sync again and lead partitions without a leader; other leaders stay until an election.
        """
        ...

    def begin_shutdown(self, broker_id: int, /) -> Deferred[None]:
        """Begin a controlled shutdown: leadership moves to other in-sync replicas while the broker still answers (KIP-631).

        Nothing happens if the broker is not registered, or is stopped or stopping.
        """
        ...

    def fence_broker(self, broker_id: int, /) -> Deferred[None]:
        """Fence a broker while the others run: clients no longer find it, and its leaderships move.

        Nothing happens if the broker is not registered or is already fenced.
        """
        ...

    def cordon(self, broker_id: int, directories: Sequence[bytes], /) -> Deferred[None]:
        """Keep new replicas out of these log directories of a broker from now on, by their ids, and of no others (KIP-1066).

        Nothing happens if the broker is not registered, if that is so already, or below metadata.version 4.3-IV0.
        """
        ...

    def fail_directories(self, broker_id: int, directories: Sequence[bytes], /) -> Deferred[None]:
        """Log directories of a broker have failed, and it has others: its replicas there leave each ISR. With a store for each broker only."""
        ...

    def unregister_broker(self, broker_id: int, /) -> Deferred[None]:
        """Remove the registration of a broker; a running one registers again at its next start.

        Fails with BROKER_ID_NOT_REGISTERED for an unknown one.
        """
        ...

    def unregister_controller(self, controller_id: int, /) -> Deferred[None]:
        """Remove the registration of a controller that is not the active one.

        Fails with INVALID_REQUEST for the active one, CONTROLLER_ID_NOT_REGISTERED for an unknown one, and UNSUPPORTED_VERSION below
        metadata.version 4.4-IV2.
        """
        ...

    def allocate_producer_ids(self, broker_id: int, /, *, broker_epoch: int | None = None) -> Deferred[range]:
        """Allocate a new block of producer ids for one broker.

        Fails with BROKER_ID_NOT_REGISTERED for a broker that was unregistered while it ran, and with STALE_BROKER_EPOCH for one that is
        registered with another than the given broker epoch.
        """
        ...

    # Brokers with a store each; all fail with INVALID_REQUEST where brokers share a store. Requests and answers are those of the wire

    def alter_partition(self, request: AlterPartitionRequest, /) -> Deferred[AlterPartitionResponse]:
        """Alter the ISR of partitions that a broker leads: an error or the new state of each (``alter_partition.py``).

        Fails with STALE_BROKER_EPOCH for a broker that is not registered with the request's epoch.
        """
        ...

    def register_broker(self, request: BrokerRegistrationRequest, version: int, /) -> Deferred[int]:
        """Register a broker in another process, fenced, by a request of this version; returns its broker epoch.

        Fails with what ``RemoteBrokers.register`` raises.
        """
        ...

    def broker_heartbeat(self, request: BrokerHeartbeatRequest, /) -> Deferred[BrokerHeartbeatResponse]:
        """Prolong the session of a broker in another process, and unfence, fence or stop it. Fails with STALE_BROKER_EPOCH."""
        ...

    def assign_replicas_to_dirs(
        self, request: AssignReplicasToDirsRequest, /
    ) -> Deferred[AssignReplicasToDirsResponse]:
        """Note the log directories of a broker's replicas. Fails with STALE_BROKER_EPOCH."""
        ...

    def fence_stale_broker(self) -> Deferred[bool]:
        """Fence one broker in another process whose session is over; whether there was one."""
        ...

    def elect_unclean_leaders(self) -> Deferred[None]:
        """Elect leaders where there is none and the topic allows unclean elections, a limited number at once."""
        ...

    # Topics. With ``client``, what a change adds or removes is charged to its quota, which may refuse it with THROTTLING_QUOTA_EXCEEDED

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, client: ChargedClient | None = None
    ) -> Deferred[Charged[list[TopicResult]]]:
        """Create the valid topics in one append; a result for each, in order. Names must differ.

        Fails with POLICY_VIOLATION for too many partitions in one request.
        """
        ...

    def delete_topics(
        self, topic_ids: Sequence[bytes], /, *, client: ChargedClient | None = None
    ) -> Deferred[Charged[dict[bytes, KafkaError | None]]]:
        """Delete topics in one append; the error for each id, or None."""
        ...

    def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool = False, client: ChargedClient | None = None
    ) -> Deferred[Charged[list[tuple[str, KafkaError | None]]]]:
        """Add partitions to topics in one append; name and error of each, in order. Names must differ.

        Fails with POLICY_VIOLATION for too many partitions in one request.
        """
        ...

    def elect_leaders(
        self, kind: ElectionType, partitions: Sequence[tuple[str, Sequence[int]]] | None, /
    ) -> Deferred[dict[str, list[tuple[int, KafkaError | None]]]]:
        """Elect leaders of partitions, by topic and index; None means all that need an election. Returns the error of each."""
        ...

    def move_leader(self, topic: str, partition: int, broker_id: int, /) -> Deferred[None]:
        """Make the given replica the leader of a partition, in a new leader epoch, preferred or not.

        Fails with UNKNOWN_TOPIC_OR_PARTITION, or ELIGIBLE_LEADERS_NOT_AVAILABLE for a broker without an in-sync replica.
        """
        ...

    def elect_preferred_leaders(self) -> Deferred[None]:
        """Elect the preferred replica of every partition where it is in sync."""
        ...

    def alter_reassignments(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> Deferred[list[KafkaError | None]]:
        """Begin or cancel reassignments; the error of each, in order. If a partition is named twice, the later reassignment
        starts from the result of the earlier one.
        """
        ...

    # Settings

    def alter_configs(
        self, alterations: Sequence[Alteration], /, *, broker_id: int, validate_only: bool = False
    ) -> Deferred[list[KafkaError | None]]:
        """Alter the settings of resources in one append, each decided on the settings as they are in its turn; the error of each, in
        order. ``broker_id`` is the broker that was asked: with its settings a default for all brokers is checked.
        """
        ...

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], unknown_hosts: frozenset[str], *, validate_only: bool
    ) -> Deferred[dict[Entity, KafkaError | None]]:
        """Set and remove quotas (``client_quotas.plan_alterations``)."""
        ...

    def alter_scram_credentials(
        self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion], /
    ) -> Deferred[dict[str, KafkaError | None]]:
        """Set and delete credentials (``scram.plan_credentials``)."""
        ...

    def create_acls(self, acls: Sequence[Acl], /) -> Deferred[list[KafkaError | None]]:
        """Add access lists (``acls.AclPlanner``); the error of each, in order."""
        ...

    def delete_acls(self, filters: Sequence[AclFilter], /) -> Deferred[list[list[Acl] | KafkaError]]:
        """Remove all access lists that a filter matches; for each filter the removed ones or its error."""
        ...

    # Delegation tokens, which are named by their secrets; ``delegation_tokens.TokenPlanner`` says what each fails with

    def create_delegation_token(self, wanted: NewToken, /) -> Deferred[DelegationTokenRecord]:
        """A new token."""
        ...

    def renew_delegation_token(self, requester: str, hmac: bytes, period_ms: int, /) -> Deferred[int]:
        """Renew a token; returns its expiry time."""
        ...

    def expire_delegation_token(self, requester: str, hmac: bytes, period_ms: int, /) -> Deferred[int]:
        """Let a token expire sooner, or at once; returns its expiry time."""
        ...

    def remove_expired_tokens(self) -> Deferred[int]:
        """Remove some expired tokens; returns their number."""
        ...

    # The metadata log

    def describe_quorum(self) -> Deferred[QuorumDescription]:
        """The quorum of the metadata log, now."""
        ...

    def read_log(self, offset: int, max_bytes: int, upper_offset: int, /) -> Deferred[bytes]:
        """Committed batches of the metadata log from ``offset`` on, whole ones below ``upper_offset`` and of about ``max_bytes``;
        empty if there are none. Fails with OFFSET_OUT_OF_RANGE, or KAFKA_STORAGE_ERROR if the disk fails.
        """
        ...

    # Features

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, static_min_isr: int, validate_only: bool
    ) -> Deferred[None]:
        """Finalize levels of features (``feature_updates.plan_updates``), all or none.

        Fails with INVALID_UPDATE_VERSION for the first update that is refused.
        """
        ...
