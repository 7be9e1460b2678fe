"""Advertises brokers that listen on all addresses under the address to which each client connected.

Clients connect again to the addresses in answers, and one address does not suit all clients: another container reaches a
container by its network's address, a client on the host by the host's. The address to which a client connected is one that
it reaches, so answers name that one. The exception is a mapped port of a container engine: the address may exist in the
container's network only. Such a client comes from the network's gateway or, by the forwarders of rootless engines, from the
container's own address; it is answered ``localhost``, where the port is mapped.

Only handlers whose answers name brokers are wrapped: Produce and Fetch of a single broker cost nothing more. The metadata
keeps the advertised endpoints unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.metadata import MetadataResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.security.context import Peer, RequestContext

_FOUR_IN_SIX: Final = "::ffff:"
#: Link-local addresses: a client could not use one without its own name of the link.
_LINK_LOCAL: Final = "fe80:"
_LOOPBACK: Final = ("127.", "::1")


class AsReached:
    """``listeners`` are the listeners concerned, ``gateways`` knows the addresses from which clients of mapped ports come.
    With ``several`` brokers Produce and Fetch are wrapped too, since their errors name new leaders.
    """

    def __init__(
        self, listeners: Collection[str], gateways: Callable[[], Collection[str]], *, several: bool = False
    ) -> None:
        self._listeners = frozenset(listeners)
        self._gateways = gateways
        self._amendments = _AMENDMENTS | _OF_SEVERAL if several else _AMENDMENTS

    def guard(self, api_key: int, handle: Handle) -> Handle:
        """A ``Guard`` of the dispatcher, which rewrites the endpoints in the handler's answers."""
        amend = self._amendments.get(api_key)
        if amend is None:
            return handle

        def answer(broker: Broker, ctx: RequestContext, request: Any) -> Answer:
            answer = handle(broker, ctx, request)
            host = self._host(ctx)
            if host is None or answer is None:
                return answer
            return answer.map(partial(amend, host)) if isinstance(answer, Deferred) else amend(host, answer)

        return answer

    def _host(self, ctx: RequestContext) -> str | None:
        if ctx.listener not in self._listeners or ctx.connection is None:
            return None
        return host_for(ctx.connection, self._gateways())


def host_for(client: Peer, gateways: Collection[str]) -> str | None:
    """The host to answer to a client; None for the advertised one."""
    came_from, reached = _plain(client.host), _plain(client.local_host)
    if came_from in gateways or (came_from == reached and reached and not reached.startswith(_LOOPBACK)):
        return "localhost"  # a process of the container that used its own address reaches that, too
    return None if not reached or reached.lower().startswith(_LINK_LOCAL) else reached


def _plain(address: str) -> str:
    """The address, an IPv4-mapped IPv6 address as IPv4."""
    return address.removeprefix(_FOUR_IN_SIX)


def _metadata(host: str, response: MetadataResponse) -> MetadataResponse:
    """Rewrites a copy of the answer and its brokers, since cached answers are shared."""
    answer = MetadataResponse(*(getattr(response, name) for name in MetadataResponse.__slots__))
    answer.brokers = [copy(each) for each in response.brokers]
    _brokers(host, answer)
    return answer


def _brokers(host: str, response: Any) -> Any:
    for each in response.brokers:
        each.host = host
    return response


def _coordinators(host: str, response: Any) -> Any:
    for each in (response, *response.coordinators):
        if each.node_id >= 0 and each.host:
            each.host = host
    return response


def _leaders(host: str, response: Any) -> Any:
    if response is not None:
        for each in response.node_endpoints:
            each.host = host
    return response


_AMENDMENTS: Final[dict[int, Callable[[str, Any], Any]]] = {
    ApiKey.METADATA: _metadata,
    ApiKey.FIND_COORDINATOR: _coordinators,
    ApiKey.DESCRIBE_CLUSTER: _brokers,
}
_OF_SEVERAL: Final[dict[int, Callable[[str, Any], Any]]] = {ApiKey.PRODUCE: _leaders, ApiKey.FETCH: _leaders}
