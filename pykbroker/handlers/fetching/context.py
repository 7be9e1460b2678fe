"""The content of one Fetch request: partitions, limits, session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.partitions.fetch_sessions import FetchItem, SessionWaiter, requested_partitions
from pykbroker.security.operations import CLUSTER_ACTION, READ
from pykbroker.security.resources import TOPIC

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.fetch_sessions import FetchSession
    from pykbroker.partitions.partition import Partition
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.fetch import FetchRequest

READ_COMMITTED = 1
_CONSUMER = -1
_FROM_ANY_REPLICA_SINCE = 11


class FetchContext(SessionWaiter):
    """See the module. A waiting fetch subclasses it and watches the partitions."""

    #: The follower that fetches, -1 for a consumer, and the epoch of its broker, -1 where it is not said (KIP-903).
    replica = replica_epoch = -1
    #: Whether this is the first look at the partitions: a follower's progress is noted once for each of its requests.
    first_look = True

    def __init__(
        self,
        broker: Broker,
        ctx: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        items: list[FetchItem] | None = None,
    ) -> None:
        self.broker = broker
        self.version = ctx.api_version
        self.listener = ctx.listener
        self.connection = ctx.connection
        self.ctx = ctx
        #: None permits everything: to a broker of this process, which asks without a connection, too.
        self.authorizer = None if ctx.connection is None else broker.authorizer
        self.request = request
        self.session = session
        # A session that this very request opened answers in full; later ones only with what changed.
        self.incremental = session is not None and request.session_id == session.id
        self.items = items if session is not None or items is not None else _each_once(request, self.version)
        self.committed = request.isolation_level == READ_COMMITTED
        self.max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
        self.leader_only = self.version < _FROM_ANY_REPLICA_SINCE and request.replica_id == _CONSUMER
        if request.replica_id >= 0 or request.replica_state is not None:
            self._note_follower()
        self.rack = request.rack_id if broker.reads_by_rack else ""

    def _note_follower(self) -> None:
        request, state = self.request, self.request.replica_state
        self.replica, self.replica_epoch = (
            (request.replica_id, -1) if state is None else (state.replica_id, state.replica_epoch)
        )
        if self.replica < 0:
            return
        self.is_replica = True
        if self.session is not None:
            self.session.is_replica = True
        replication = self.broker.store.replication
        if replication is not None:
            replication.fetch_times[self.replica] = replication.now_ms()

    def follow(self, item: FetchItem, partition: Partition) -> None:
        """Watch ``partition`` for ``item`` from now on."""
        raise NotImplementedError

    def may_read(self, authorizer: Authorizer, topic: str | bytes) -> bool:
        """Whether the client may read a topic. For followers, which are brokers, the answer is the same for all topics."""
        ctx = self.ctx
        if self.replica >= 0:
            return authorizer.may_do_to_cluster(ctx, CLUSTER_ACTION)
        if (ctx.principal, ctx.client_host, READ, TOPIC, topic) in authorizer.granted:
            return True
        if isinstance(topic, str):
            return authorizer.may(ctx, READ, TOPIC, topic)
        name = self.broker.topic_name(topic)
        if name is None:
            return True  # an unknown topic id is answered UNKNOWN_TOPIC_ID later
        allowed = authorizer.may(ctx, READ, TOPIC, name)
        if allowed:
            authorizer.grant_by_id(ctx, READ, TOPIC, topic, name)
        return allowed


def _each_once(request: FetchRequest, version: int) -> list[FetchItem]:
    """The partitions of a request. One that is named twice keeps its first place and is read as named last, as in Kafka."""
    return list(
        {
            (topic, asked.partition): FetchItem.of(topic, asked)
            for topic, asked in requested_partitions(request, version)
        }.values()
    )
