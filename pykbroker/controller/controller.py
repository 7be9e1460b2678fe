"""The controller of this process: decides requests of brokers on the image and commits them to the local metadata log.

It implements ``ControllerPort`` for a process that is a cluster of its own, and is the ``MetadataSource`` of its readers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pykbroker.controller.commits import Commits, Deciding, Decision, Preparation, Records
from pykbroker.controller.registrations import BrokerRegistration, check_epoch, cordoning, cordons_others, fencing
from pykbroker.controller.shared_store import ELECTIONS_AT_ONCE, SharedStore
from pykbroker.metadata.answers import Answers
from pykbroker.metadata.features import CURRENT, Features
from pykbroker.metadata.image import BrokerImage, MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.runtime.runtime import Runtime
from pykbroker.runtime.waits import Deferred, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.controller.acls import AclPlanner
    from pykbroker.controller.broker_sessions import ControlState
    from pykbroker.controller.client_quotas import Entity, QuotaAlteration
    from pykbroker.controller.commits import RecordLog
    from pykbroker.controller.config_alterations import Alteration, ConfigRules
    from pykbroker.controller.delegation_tokens import NewToken, TokenPlanner
    from pykbroker.controller.elections import ElectionType
    from pykbroker.controller.feature_updates import FeatureUpdate
    from pykbroker.controller.internal_topics import Settings
    from pykbroker.controller.metadata_quorum import QuorumDescription
    from pykbroker.controller.mutation_quotas import Charged, ChargedClient, MutationQuota, MutationQuotas
    from pykbroker.controller.own_stores import OwnStores
    from pykbroker.controller.reassignments import Reassignment
    from pykbroker.controller.scram import Deletion, Upsertion
    from pykbroker.controller.topics import NewPartitions, NewTopic, TopicPlanner, TopicResult
    from pykbroker.metadata.source import Readying, Subscriber
    from pykbroker.security.acl import Acl, AclFilter
    from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord
    from pykbroker.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
    from pykbroker.wire.messages.assign_replicas_to_dirs import (
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponse,
    )
    from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
    from pykbroker.wire.messages.broker_registration import BrokerRegistrationRequest

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: The size of a block of producer ids (KIP-730).
PRODUCER_ID_BLOCK = 1000


class Controller:
    """See the module; the operations are described in ``port.py``. The loop that owns the state calls it."""

    def __init__(
        self,
        log: RecordLog,
        image: MetadataImage,
        runtime: Runtime,
        *,
        config: Settings,
        rules: ConfigRules,
        features: Features = CURRENT,
    ) -> None:
        self.image = image
        image.kraft_version = log.quorum.kraft_version
        #: The feature levels that the cluster may finalize.
        self.features = features
        self._mutation_quotas: MutationQuotas | None = None
        self._commits = Commits(log, image, runtime)
        self._log = log
        self._runtime = runtime
        self._rng = runtime.random
        self._clock = runtime.clock
        self._config = config
        self._acl_planner: AclPlanner | None = None
        self._token_planner: TokenPlanner | None = None
        self._rules = rules
        self._topic_planner: TopicPlanner | None = None
        #: The rules where each broker has a store of its own; None where brokers share one.
        self.own_stores: OwnStores | None = None
        self._stores: SharedStore | OwnStores = SharedStore(image, self._rng, features)

    @property
    def log(self) -> RecordLog:
        """The metadata log, for inspection."""
        return self._log

    @property
    def answers(self) -> Answers:
        """Cached Metadata answers since the last change."""
        return self._commits.answers

    def subscribe(self, subscriber: Subscriber, readying: Readying | None = None) -> Callable[[], None]:
        """Call ``subscriber(image, delta)`` after each change, before it is answered. Changes that it requests are queued.
        ``readying``: see ``metadata/source.py``. Returns the function that ends the subscription.
        """
        return self._commits.subscribe(subscriber, readying)

    def charge(self, quotas: MutationQuotas | None) -> None:
        """Charge changes of partitions to their clients' quotas from now on; None charges nobody."""
        self._mutation_quotas = quotas

    def prepare_with(self, preparation: Preparation) -> None:
        """Call ``preparation`` with the records of each change; a thread does the work that it returns before they are synced."""
        self._commits.prepare_with(preparation)

    def use_own_stores(self) -> None:
        """Let the rules be those of brokers with a store each; called before brokers start, since it does not change by itself who is
        in sync.
        """
        from pykbroker.controller.own_stores import OwnStores

        self.own_stores = OwnStores(self.image, self._config, self._log.quorum.node_id, self._rng, self.features)
        self._stores = self.own_stores
        self.subscribe(self.own_stores.partition_log.follow)

    # The start and the end of the process, which wait for the disk

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        """Append, sync and publish at once. Raises KafkaError KAFKA_STORAGE_ERROR if the log cannot be written: then nothing
        has changed.
        """
        self._commits.commit_now(records)

    def start_brokers(self, registrations: Sequence[BrokerRegistration], *, clean: bool = True) -> dict[int, int]:
        """Register the brokers of this process and fence all others; returns their broker epochs by id.

        ``clean`` says that no records were lost since the last commit. Otherwise the partitions that these brokers lead
        start a new leader epoch, by which clients notice that records may be lost. With own stores each registration says it.
        """
        records, epochs = self._stores.start_all(registrations, self._log.end_offset, clean=clean)
        self.commit(records)
        return epochs

    def stop_brokers(self) -> None:
        """Fence every broker because the process ends. Leaders stay: they are the same after a clean start.

        A change under way is completed first. The fencing is for the next process (Kafka would wait for the broker's
        session to expire), so a disk error is only logged.
        """
        try:
            self._commits.finish_now()
            self.commit([fencing(broker) for broker in self.image.active_brokers()])
        except KafkaError as error:
            logger.warning("Fencing of the brokers at shutdown cannot be written to the metadata log: %s", error)

    # Brokers

    def start_broker(self, broker: BrokerRegistration) -> Deferred[int]:
        return self._commits.decide(lambda: self._stores.start(broker, self._log.end_offset))

    def begin_shutdown(self, broker_id: int) -> Deferred[None]:
        return self._commits.decide(lambda: _decision(self._if_known(broker_id, self._stores.begin_shutdown)))

    def fence_broker(self, broker_id: int) -> Deferred[None]:
        return self._commits.decide(lambda: _decision(self._if_known(broker_id, self._stores.fence)))

    def cordon(self, broker_id: int, directories: Sequence[bytes]) -> Deferred[None]:
        def plan(broker: BrokerImage) -> list[MetadataRecord]:
            return [cordoning(broker, directories)] if cordons_others(self.image, broker, directories) else []

        return self._commits.decide(lambda: _decision(self._if_known(broker_id, plan)))

    def fail_directories(self, broker_id: int, directories: Sequence[bytes]) -> Deferred[None]:
        def plan(broker: BrokerImage) -> Records:
            return self._own().control.offline(broker, directories)

        return self._commits.decide(lambda: _decision(self._if_known(broker_id, plan)))

    def unregister_broker(self, broker_id: int) -> Deferred[None]:
        def forget(_: None) -> None:
            if self.own_stores is not None:
                self.own_stores.sessions.forget(broker_id)

        return self._commits.decide(lambda: _decision(self._stores.unregister(self._registered(broker_id)))).map(forget)

    # What only brokers with a store each ask for

    def alter_partition(self, request: AlterPartitionRequest) -> Deferred[AlterPartitionResponse]:
        from pykbroker.controller.alter_partition import plan_alter_partition

        return self._commits.decide(lambda: plan_alter_partition(self._own().control, request))

    def register_broker(self, request: BrokerRegistrationRequest, version: int) -> Deferred[int]:
        def decide() -> Generator[float, None, Decision[tuple[int, int]]]:
            registered = self._own().remote.register(request, version, self._log.end_offset, self._monotonic_ms())
            records, epoch, offset = yield from registered
            return records, (epoch, offset)

        def begin_session(registered: tuple[int, int]) -> int:
            self._own().sessions.register(request.broker_id, *registered)
            return registered[0]

        return self._commits.decide(decide).map(begin_session)

    def broker_heartbeat(self, request: BrokerHeartbeatRequest) -> Deferred[BrokerHeartbeatResponse]:
        from pykbroker.wire.messages.broker_heartbeat import BrokerHeartbeatResponse

        def settle(state: ControlState) -> BrokerHeartbeatResponse:
            sessions = self._own().sessions
            sessions.settle(request.broker_id, state, request.current_metadata_offset, self.image.offset)
            return BrokerHeartbeatResponse(
                is_caught_up=request.current_metadata_offset >= sessions.registered_at(request.broker_id),
                is_fenced=state.fenced,
                should_shut_down=state is state.SHUTDOWN_NOW,
            )

        if self.own_stores is not None:
            self.own_stores.sessions.contact(request.broker_id, request.broker_epoch, self._monotonic_ms())
        return self._commits.decide(lambda: self._own().remote.heartbeat(request)).map(settle)

    def assign_replicas_to_dirs(self, request: AssignReplicasToDirsRequest) -> Deferred[AssignReplicasToDirsResponse]:
        return self._commits.decide(lambda: self._own().remote.assign(request))

    def fence_stale_broker(self) -> Deferred[bool]:
        def decide() -> Generator[float, None, Decision[tuple[int, int, int] | None]]:
            own, now_ms = self._own(), self._monotonic_ms()
            stale = own.sessions.stale(now_ms)
            if stale is None:
                return [], None
            return (yield from _in_slices(own.fence_stale(*stale))), (*stale, now_ms)

        def end(stale: tuple[int, int, int] | None) -> bool:
            if stale is not None:
                self._own().sessions.end(*stale)
            return stale is not None

        return self._commits.decide(decide).map(end)

    def elect_unclean_leaders(self) -> Deferred[None]:
        return self._commits.decide(lambda: _decision(self._own().elect_unclean()))

    def _own(self) -> OwnStores:
        if self.own_stores is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The brokers of this cluster share a store.")
        return self.own_stores

    def _monotonic_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)

    def unregister_controller(self, controller_id: int) -> Deferred[None]:
        from pykbroker.controller.unregistration import plan

        return self._commits.decide(lambda: (plan(self.image, self._log.quorum.node_id, controller_id), None))

    def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int | None = None) -> Deferred[range]:
        def decide() -> Decision[range]:
            if broker_epoch is not None:
                check_epoch(self.image, broker_id, broker_epoch)
            first = self.image.next_producer_id
            following = first + PRODUCER_ID_BLOCK
            epoch = self._registered(broker_id).epoch
            from pykbroker.wire.internal.producer_ids_record import ProducerIdsRecord

            record = ProducerIdsRecord(broker_id=broker_id, broker_epoch=epoch, next_producer_id=following)
            return [record], range(first, following)

        return self._commits.decide(decide)

    # Topics

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, client: ChargedClient | None = None
    ) -> Deferred[Charged[list[TopicResult]]]:
        def decide(quota: MutationQuota | None) -> Generator[float, None, Decision[list[TopicResult]]]:
            records, results = yield from self._topics().create_all(topics, quota)
            return [] if validate_only else records, results

        return self._charged(client, decide)

    def delete_topics(
        self, topic_ids: Sequence[bytes], *, client: ChargedClient | None = None
    ) -> Deferred[Charged[dict[bytes, KafkaError | None]]]:
        def decide(quota: MutationQuota | None) -> Decision[dict[bytes, KafkaError | None]]:
            results: dict[bytes, KafkaError | None] = {}
            records: list[MetadataRecord] = []
            for topic_id in topic_ids:
                try:
                    removal = self._topics().remove(topic_id)
                    if quota is not None:
                        quota.record(len(self.image.topics_by_id[topic_id].partitions))
                    records.append(removal)
                except KafkaError as error:
                    results[topic_id] = error.kept()
                else:
                    results[topic_id] = None
            return records, results

        return self._charged(client, decide)

    def create_partitions(
        self, topics: Sequence[NewPartitions], *, validate_only: bool = False, client: ChargedClient | None = None
    ) -> Deferred[Charged[list[tuple[str, KafkaError | None]]]]:
        def decide(
            quota: MutationQuota | None,
        ) -> Generator[float, None, Decision[list[tuple[str, KafkaError | None]]]]:
            records, results = yield from self._topics().add_all_partitions(topics, quota)
            return [] if validate_only else records, results

        return self._charged(client, decide)

    def _charged(
        self, client: ChargedClient | None, decide: Callable[[MutationQuota | None], Deciding[T]]
    ) -> Deferred[Charged[T]]:
        """The decision, charged to the client's quota of now; a failure carries the throttle time, too."""
        from pykbroker.controller.mutation_quotas import Charged

        quota = None if client is None or self._mutation_quotas is None else self._mutation_quotas.of(client)
        decided = self._commits.decide(lambda: decide(quota))
        if quota is None:
            return decided.map(Charged)

        def failed(error: KafkaError) -> NoReturn:
            error.throttle_time_ms = quota.throttle_ms()
            raise error

        return decided.map(lambda result: Charged(result, quota.throttle_ms())).recover(KafkaError, failed)

    def elect_leaders(
        self, kind: ElectionType, partitions: Sequence[tuple[str, Sequence[int]]] | None
    ) -> Deferred[dict[str, list[tuple[int, KafkaError | None]]]]:
        return self._commits.decide(lambda: self._stores.elect(kind, partitions))

    def move_leader(self, topic: str, partition: int, broker_id: int) -> Deferred[None]:
        from pykbroker.controller.elections import plan_leader

        return self._commits.decide(lambda: (plan_leader(self.image, topic, partition, broker_id), None))

    def elect_preferred_leaders(self) -> Deferred[None]:
        def decide() -> Generator[float, None, Decision[int]]:
            records = yield from _in_slices(self._stores.elect_preferred())
            return records, len(records)

        def go_on(count: int) -> Deferred[None]:
            return self.elect_preferred_leaders() if count == ELECTIONS_AT_ONCE else Deferred.completed(None)

        return self._commits.decide(decide).chain(go_on)

    def alter_reassignments(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> Deferred[list[KafkaError | None]]:
        from pykbroker.controller.reassignments import without_repeats

        def begin(some: Sequence[Reassignment]) -> Deferred[list[KafkaError | None]]:
            return self._commits.decide(lambda: self._stores.reassign(some, same_factor=same_factor))

        begun = gather([begin(some) for some in without_repeats(wanted)])
        return begun.map(lambda parts: [error for part in parts for error in part])

    # Settings

    def alter_configs(
        self, alterations: Sequence[Alteration], *, broker_id: int, validate_only: bool = False
    ) -> Deferred[list[KafkaError | None]]:
        from pykbroker.controller.config_alterations import plan_alterations

        def decide() -> Decision[list[KafkaError | None]]:
            records, errors = plan_alterations(self.image, alterations, broker_id, self._rules)
            return [] if validate_only else records, errors

        return self._commits.decide(decide)

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], unknown_hosts: frozenset[str], *, validate_only: bool
    ) -> Deferred[dict[Entity, KafkaError | None]]:
        from pykbroker.controller.client_quotas import plan_alterations

        def decide() -> Decision[dict[Entity, KafkaError | None]]:
            records, results = plan_alterations(self.image, alterations, unknown_hosts)
            return [] if validate_only else records, results

        return self._commits.decide(decide)

    def alter_scram_credentials(
        self, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
    ) -> Deferred[dict[str, KafkaError | None]]:
        from pykbroker.controller.scram import plan_credentials

        return self._commits.decide(lambda: plan_credentials(self.image, deletions, upsertions))

    def create_acls(self, acls: Sequence[Acl]) -> Deferred[list[KafkaError | None]]:
        return self._commits.decide(lambda: self._acls().create(acls))

    def delete_acls(self, filters: Sequence[AclFilter]) -> Deferred[list[list[Acl] | KafkaError]]:
        return self._commits.decide(lambda: self._acls().delete(filters))

    # Delegation tokens

    def create_delegation_token(self, wanted: NewToken) -> Deferred[DelegationTokenRecord]:
        return self._commits.decide(lambda: self._tokens().create(wanted))

    def renew_delegation_token(self, requester: str, hmac: bytes, period_ms: int) -> Deferred[int]:
        return self._commits.decide(lambda: self._tokens().renew(requester, hmac, period_ms))

    def expire_delegation_token(self, requester: str, hmac: bytes, period_ms: int) -> Deferred[int]:
        return self._commits.decide(lambda: self._tokens().expire(requester, hmac, period_ms))

    def remove_expired_tokens(self) -> Deferred[int]:
        return self._commits.decide(lambda: self._tokens().remove_expired())

    # The metadata log

    def describe_quorum(self) -> Deferred[QuorumDescription]:
        from pykbroker.controller.metadata_quorum import described

        return Deferred.completed(described(self._log, self.image, self._clock.now_ms()))

    def read_log(self, offset: int, max_bytes: int, upper_offset: int) -> Deferred[bytes]:
        def read() -> Deferred[bytes]:
            plan = self._log.plan_read(offset, max_bytes, min(upper_offset, self.image.offset + 1))
            return Deferred.completed(b"") if plan is None else self._runtime.offload_read(plan.read).map(bytes)

        return attempt(read)

    # Features

    def update_features(
        self, updates: Sequence[FeatureUpdate], *, static_min_isr: int, validate_only: bool
    ) -> Deferred[None]:
        from pykbroker.controller.feature_updates import plan_updates, upgrades_voters

        def decide() -> Decision[bool]:
            quorum = self._log.quorum
            try:
                records = plan_updates(
                    self.image,
                    quorum.node_id,
                    quorum.kraft_version,
                    updates,
                    static_min_isr=static_min_isr,
                    features=self.features,
                )
            except KafkaError as error:
                reason = f"The update failed for all features since the following feature had an error: {error.message}"
                raise KafkaError(error.code, reason) from error
            if validate_only:
                return [], False
            if upgrades_voters(quorum.kraft_version, updates):
                return [quorum.as_dynamic_voter()], True
            return records, False

        def go_on(upgraded: bool) -> Deferred[None]:
            """As in Kafka, voters come first, and by themselves."""
            if not upgraded:
                return Deferred.completed(None)
            return self.update_features(updates, static_min_isr=static_min_isr, validate_only=False)

        return self._commits.decide(decide).chain(go_on)

    # Planners

    def _topics(self) -> TopicPlanner:
        """Made when topics are first altered."""
        if self._topic_planner is None:
            from pykbroker.controller.topics import TopicPlanner

            check = self._rules.check_topic_configs
            self._topic_planner = TopicPlanner(self.image, self._rng, check, self._topic_defaults)
        return self._topic_planner

    def _acls(self) -> AclPlanner:
        """Created when access lists are first altered."""
        if self._acl_planner is None:
            from pykbroker.controller.acls import AclPlanner

            self._acl_planner = AclPlanner(self.image, self._rng)
            self.subscribe(self._acl_planner.follow)
        return self._acl_planner

    def _tokens(self) -> TokenPlanner:
        """Created when tokens are first requested or expired."""
        if self._token_planner is None:
            from pykbroker.controller.delegation_tokens import TokenPlanner

            since = self.features.tokens_since
            self._token_planner = TokenPlanner(self.image, self._config, self._clock.now_ms, self._rng, since=since)
            self.subscribe(self._token_planner.follow)
        return self._token_planner

    def _topic_defaults(self) -> tuple[int, int]:
        return self._config["num.partitions"], self._config["default.replication.factor"]

    def _registered(self, broker_id: int) -> BrokerImage:
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
        return broker

    def _if_known(self, broker_id: int, plan: Callable[[BrokerImage], Records]) -> Records:
        broker = self.image.brokers.get(broker_id)
        return [] if broker is None else plan(broker)


def _decision(records: Records) -> Deciding[None]:
    """The decision for records without a result."""
    return (records, None) if isinstance(records, list) else _decision_in_slices(records)


def _decision_in_slices(records: Records) -> Generator[float, None, Decision[None]]:
    return (yield from _in_slices(records)), None


def _in_slices(records: Records) -> Generator[float, None, list[MetadataRecord]]:
    return records if isinstance(records, list) else (yield from records)
