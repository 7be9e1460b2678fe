"""What one Fetch request asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.partitions.fetch_sessions import FetchItem, SessionWaiter, requested

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.fetch_sessions import FetchSession
    from pykbroker.partitions.partition import Partition
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.fetch import FetchRequest

READ_COMMITTED = 1
_CONSUMER = -1
_FROM_ANY_REPLICA_SINCE = 11


class Asked(SessionWaiter):
    """See the module; whoever waits for more is told of what happens to the partitions."""

    def __init__(
        self, broker: Broker, ctx: RequestContext, request: FetchRequest, session: FetchSession | None
    ) -> None:
        self.broker = broker
        self.version = ctx.api_version
        self.listener = ctx.listener
        self.connection = ctx.connection
        self.request = request
        self.session = session
        # A session that this very request opened answers in full; later ones only with what changed.
        self.incremental = session is not None and request.session_id == session.id
        self.items = None if session is not None else [FetchItem(*named) for named in requested(request, self.version)]
        self.committed = request.isolation_level == READ_COMMITTED
        self.max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
        self.leader_only = self.version < _FROM_ANY_REPLICA_SINCE and request.replica_id == _CONSUMER
        self.rack = request.rack_id if broker.cluster.reads_by_rack else ""

    def follow(self, item: FetchItem, partition: Partition) -> None:
        """``item`` names ``partition`` from now on."""
        raise NotImplementedError
