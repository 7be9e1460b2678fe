"""What clients are told of brokers that listen on every address: the address by which they came.

A client connects anew to the addresses that answers name, and one address does not suit all: another container reaches a
container by an address of its network, a client of the host by the host's own. Where a client came to is an address that it
reaches, and so it is what it is told. A port that an engine maps is the exception: its client comes by way of the network's
gateway, to an address that may be known there alone, and is told ``localhost``, which is where it maps to.

Amended are the answers that name brokers, around their handlers, and no others: who sends and fetches records from a broker
that is alone takes no step more. What the metadata has of the brokers stays as it is.
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
#: Of one link alone: it says nothing without the name that this link has on the other side.
_LINK_LOCAL: Final = "fe80:"


class AsReached:
    """``listeners`` are those that it holds for, ``gateways`` says which addresses clients of mapped ports come from. With
    ``several`` brokers, those who send and fetch are told of new leaders, too.
    """

    def __init__(
        self, listeners: Collection[str], gateways: Callable[[], Collection[str]], *, several: bool = False
    ) -> None:
        self._listeners = frozenset(listeners)
        self._gateways = gateways
        self._amendments = _AMENDMENTS | _OF_SEVERAL if several else _AMENDMENTS

    def guard(self, api_key: int, handle: Handle) -> Handle:
        """A ``Guard`` of the dispatcher: the handler, and who asks is told the address by which he came."""
        amend = self._amendments.get(api_key)
        if amend is None:
            return handle

        def told(broker: Broker, ctx: RequestContext, request: Any) -> Answer:
            answer = handle(broker, ctx, request)
            host = self._host(ctx)
            if host is None or answer is None:
                return answer
            return answer.map(partial(amend, host)) if isinstance(answer, Deferred) else amend(host, answer)

        return told

    def _host(self, ctx: RequestContext) -> str | None:
        if ctx.listener not in self._listeners or ctx.connection is None:
            return None
        return host_for(ctx.connection, self._gateways())


def host_for(client: Peer, gateways: Collection[str]) -> str | None:
    """What a client is told; None where nothing better is known than what is advertised."""
    if _plain(client.host) in gateways:
        return "localhost"
    reached = _plain(client.local_host)
    return None if not reached or reached.lower().startswith(_LINK_LOCAL) else reached


def _plain(address: str) -> str:
    """An address of IPv4 as such, where a socket of IPv6 took it."""
    return address.removeprefix(_FOUR_IN_SIX)


def _metadata(host: str, response: MetadataResponse) -> MetadataResponse:
    """The answer may be one that others are given, too: a copy, whose brokers are copies."""
    told = MetadataResponse(*(getattr(response, name) for name in MetadataResponse.__slots__))
    told.brokers = [copy(each) for each in response.brokers]
    _brokers(host, told)
    return told


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
