"""Sends Kafka requests to the brokers of this process, like a client but without a socket.

It has a dispatcher of its own, without fault injection, quotas and request log: these concern clients, and the console
is where faults are removed. Authorization applies: requests have the principal and the address of who asks by HTTP.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pykbroker import __version__
from pykbroker.client.errors import raise_for
from pykbroker.handlers.contract import CloseConnection, NotYet
from pykbroker.http.principal import PRINCIPAL
from pykbroker.metadata.image import NO_LEADER
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TOPIC
from pykbroker.steered.outcomes import outcome, present
from pykbroker.steered.refusal import VerbRefused
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import WireError
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.principal import HttpPrincipal
    from pykbroker.partitions.partition import Partition
    from pykbroker.process.life import Lifetimes
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import TimeSpent
    from pykbroker.wire.message import Message

T = TypeVar("T")

_COORDINATOR_VERSION: Final = 3
#: Bytes of an answer that the loop decodes by itself.
_DECODED_HERE: Final = 16 * 1024
#: Key types of FindCoordinator.
GROUP, TRANSACTION = 0, 1


class _Peer:
    """The console as the peer of a connection, for handlers."""

    port = 0
    local_host = ""
    principal = PRINCIPAL
    client_software = ("pykbroker-console", __version__)
    time_spent: TimeSpent | None = None
    when_lost: dict[object, Callable[[], None]] | None = None
    is_lost = False
    by_token = False

    def __init__(self, listener: str, host: str) -> None:
        self.listener = listener
        self.host = host

    def mute(self, ms: float) -> None:
        """No quotas apply to the console."""

    def hold(self, until: Deferred[Any]) -> None:
        """The console asks one request after the other."""


class InProcessClient:
    """The brokers of a process, as long as it runs; after a reset they have another cluster."""

    def __init__(self, lifetimes: Lifetimes, principal: HttpPrincipal, *, authorises: bool) -> None:
        self._lifetimes = lifetimes
        self.principal = principal
        self._dispatcher = _dispatcher(authorises=authorises)
        self._requests = 0

    def acting_for(self, principal: HttpPrincipal) -> InProcessClient:
        """Return the same brokers for another asker."""
        made = copy.copy(self)
        made.principal = principal
        return made

    def cluster(self) -> Cluster:
        """Return the cluster. Raises VerbRefused while the process stops or is reset."""
        return present(self._lifetimes)

    def running(self) -> list[int]:
        """Return the ids of the running brokers. Raises VerbRefused if there is none."""
        found = [node_id for node_id, broker in self.cluster().brokers.items() if not broker.leaving]
        if not found:
            raise VerbRefused(503, "every broker of this process is stopped; start one under Brokers")
        return found

    def partition(self, topic: str, index: int) -> Partition:
        """Return a partition. Raises VerbRefused if it does not exist, or if the console may not describe its topic."""
        found = self.cluster().partition(topic, index) if self.sees(topic) else None
        if found is None:
            raise VerbRefused(404, f"there is no partition {topic[:249]}-{index}")
        return found

    def sees(self, topic: str) -> bool:
        """Whether the console may describe a topic."""
        return self.principal.may(DESCRIBE, TOPIC, topic)

    async def ask(self, request: Message, version: int, node_id: int | None = None) -> Any:
        """Return the response of a broker, by default any that runs. Raises VerbRefused, and WireError."""
        cluster = self.cluster()
        broker = cluster.brokers.get(self.running()[0] if node_id is None else node_id)
        if broker is None or broker.leaving:
            raise VerbRefused(503, f"broker {node_id} is stopped")
        self._requests = (self._requests + 1) & 0x7FFFFFFF
        frame = bytearray()
        try:
            encode_request_header(frame, RequestHeader(request.API_KEY, version, self._requests, "console"))
            request.encode(frame, version)
        except (WireError, UnicodeEncodeError) as error:
            raise VerbRefused(400, f"that cannot be encoded in Kafka's protocol: {error}") from error
        pieces = await self._handed_in(broker, memoryview(frame))
        data = b"".join([await self._whole(cluster, piece) for piece in pieces])
        _, start = decode_response_header(data, 4, request.API_KEY, version)
        decode = response_class(request.API_KEY).decode
        if len(data) <= _DECODED_HERE:
            return decode(data, start, version)[0]
        return (await asyncio.to_thread(decode, data, start, version))[0]  # a list of all groups, say

    async def ask_leader(self, topic: str, index: int, request: Message, version: int) -> Any:
        """Return the response of a partition's leader. Raises VerbRefused if there is no leader."""
        leader = self.partition(topic, index).leader
        if leader == NO_LEADER:
            raise VerbRefused(409, f"{topic}-{index} has no leader: its replicas are on brokers that are stopped")
        return await self.ask(request, version, leader)

    async def coordinator(self, key: str, kind: int = GROUP) -> int:
        """Return the coordinator of a group or a transactional id.

        Raises KafkaError COORDINATOR_NOT_AVAILABLE while its partition has no leader, and GROUP_AUTHORIZATION_FAILED.
        """
        answer = await self.ask(FindCoordinatorRequest(key=key, key_type=kind), _COORDINATOR_VERSION)
        raise_for(answer.error_code, answer.error_message)
        return int(answer.node_id)

    async def _handed_in(self, broker: Broker, frame: memoryview) -> Any:
        peer = _Peer(broker.endpoints[0].listener, self.principal.host)
        while True:
            try:
                answer = self._dispatcher.answer(broker, peer, frame)
            except NotYet as error:
                await self.outcome(error.until)
            except CloseConnection as error:
                raise VerbRefused(409, f"the broker would close the connection for this request: {error}") from error
            else:
                return answer if isinstance(answer, list) else await self.outcome(answer)

    async def outcome(self, wait: Deferred[T]) -> T:
        """Return the result of a wait. Raises its error, and VerbRefused if the cluster is dropped meanwhile.

        If the caller is cancelled, the wait is abandoned.
        """
        return await outcome(self._lifetimes, wait)

    async def _whole(self, cluster: Cluster, piece: Any) -> bytes:
        """Return a piece of an answer; one that is in a file is read in a thread."""
        if isinstance(piece, StoredRecords):
            return bytes(await self.outcome(cluster.runtime.offload_read(piece.slice, 0, len(piece))))
        return bytes(piece)


def _dispatcher(*, authorises: bool) -> Dispatcher:
    if not authorises:
        return Dispatcher()
    from pykbroker.access.step import authorise

    return Dispatcher(filled={Place.AUTHORISE: authorise})
