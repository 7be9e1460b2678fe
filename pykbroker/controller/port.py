"""What brokers ask of the controller, wherever it is: each question returns a wait for its answer.

An answer comes when what it says is durable and published in the image. Every wait may fail with KafkaError: with
KAFKA_STORAGE_ERROR where the metadata log cannot be written, and then nothing has changed. In this process the controller
itself answers (``controller.py``); one in another process would be asked over the network, and nobody above would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.controller.client_quotas import Entity, QuotaAlteration
    from pykbroker.controller.delegation_tokens import NewToken
    from pykbroker.controller.elections import ElectionType
    from pykbroker.controller.feature_updates import FeatureUpdate
    from pykbroker.controller.reassignments import Reassignment
    from pykbroker.controller.registrations import BrokerRegistration
    from pykbroker.controller.scram import Deletion, Upsertion
    from pykbroker.controller.topics import NewPartitions, NewTopic, TopicResult
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.acl import Acl, AclFilter
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord

#: Told of so many partitions before they are created or deleted; raises KafkaError where a quota does not let them.
MayChange = Callable[[int], None]

#: Settings of a resource (type, name): texts, and None for what is removed.
ConfigChanges = Mapping[tuple[int, str], Mapping[str, str | None]]


class ControllerPort(Protocol):
    """See the module."""

    # Brokers

    def start_broker(self, broker: BrokerRegistration, /) -> Deferred[int]:
        """Register one broker while the others go on; its broker epoch.

        Its replicas are in sync again and lead what has no leader; others keep what they lead until an election.
        """
        ...

    def begin_shutdown(self, broker_id: int, /) -> Deferred[None]:
        """A broker is about to stop: its partitions move to other replicas in sync while it still answers (KIP-631).

        One that is not registered, or away already, is left alone.
        """
        ...

    def fence_broker(self, broker_id: int, /) -> Deferred[None]:
        """Take a broker out while the others go on: clients no longer find it, and its partitions move.

        One that is not registered, or fenced already, is left alone.
        """
        ...

    def unregister_broker(self, broker_id: int, /) -> Deferred[None]:
        """Forget a broker that is gone for good; one that runs is back with its next start.

        Fails with BROKER_ID_NOT_REGISTERED for an unknown one.
        """
        ...

    def allocate_producer_ids(self, broker_id: int, /) -> Deferred[range]:
        """A block of producer ids that nobody had before, for one broker.

        Fails with BROKER_ID_NOT_REGISTERED for one that was unregistered while it ran.
        """
        ...

    # Topics

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, may_change: MayChange | None = None
    ) -> Deferred[list[TopicResult]]:
        """Create topics, those that can be in one append; a result for each, in the order given. Names must differ.

        Fails with POLICY_VIOLATION when they are too many partitions for one request.
        """
        ...

    def delete_topics(
        self, topic_ids: Sequence[bytes], /, *, may_change: MayChange | None = None
    ) -> Deferred[dict[bytes, KafkaError | None]]:
        """Delete topics in one append; what failed for each id, or None."""
        ...

    def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool = False, may_change: MayChange | None = None
    ) -> Deferred[list[tuple[str, KafkaError | None]]]:
        """Add partitions to topics in one append; name and error of each, in the order given. Names must differ.

        Fails with POLICY_VIOLATION when they are too many for one request.
        """
        ...

    def elect_leaders(
        self, kind: ElectionType, partitions: Sequence[tuple[str, Sequence[int]]] | None, /
    ) -> Deferred[dict[str, list[tuple[int, KafkaError | None]]]]:
        """Elect the wanted leaders of partitions, by topic and index; None means all that need it. The error of each."""
        ...

    def move_leader(self, topic: str, partition: int, broker_id: int, /) -> Deferred[None]:
        """Let another replica lead a partition, in a new leader epoch, whichever comes first in the list of its replicas.

        Fails with UNKNOWN_TOPIC_OR_PARTITION, or with ELIGIBLE_LEADERS_NOT_AVAILABLE for a broker that has no replica in sync.
        """
        ...

    def elect_preferred_leaders(self) -> Deferred[None]:
        """Give leadership back to the first replica of every partition, wherever it is in sync."""
        ...

    def alter_reassignments(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> Deferred[list[KafkaError | None]]:
        """Begin or take back moves of partitions; the error of each, in the order given. Of a partition that is named twice
        the later move begins where the earlier one ends.
        """
        ...

    # Settings

    def alter_configs(self, plan: Callable[[], ConfigChanges], /) -> Deferred[None]:
        """Set and remove settings in one append. ``plan`` looks at what there is when its turn has come, and returns what is
        valid. What would change nothing is left out, but for a broker: its setting may name a file that has changed.
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
        """Keep and forget credentials (``scram.plan_credentials``)."""
        ...

    def create_acls(self, acls: Sequence[Acl], /) -> Deferred[list[KafkaError | None]]:
        """Keep access lists (``acls.AclPlanner``); what is wrong with each, in the order given."""
        ...

    def delete_acls(self, filters: Sequence[AclFilter], /) -> Deferred[list[list[Acl] | KafkaError]]:
        """Forget all access lists that a filter matches; which those are, or what is wrong with it, for each."""
        ...

    # Delegation tokens, which are named by their secrets; ``delegation_tokens.TokenPlanner`` says what each fails with

    def create_delegation_token(self, wanted: NewToken, /) -> Deferred[DelegationTokenRecord]:
        """A new token."""
        ...

    def renew_delegation_token(self, asker: str, hmac: bytes, period_ms: int, /) -> Deferred[int]:
        """Let a token live longer; when it expires now."""
        ...

    def expire_delegation_token(self, asker: str, hmac: bytes, period_ms: int, /) -> Deferred[int]:
        """Let a token end sooner, or at once; when it expires now."""
        ...

    def remove_expired_tokens(self) -> Deferred[int]:
        """Forget tokens whose time is over, some of them; how many."""
        ...

    # Features

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, static_min_isr: int, validate_only: bool
    ) -> Deferred[None]:
        """Finalize levels of features (``feature_updates.plan_updates``), all or none.

        Fails with INVALID_UPDATE_VERSION for the first one that is refused.
        """
        ...
