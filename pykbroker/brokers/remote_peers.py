"""The way to brokers in other processes: by their inter-broker listeners, which the metadata name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.quorum.observer import Address
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import ErrorCode, KafkaError, error_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pykbroker.metadata.source import MetadataSource
    from pykbroker.quorum.observing import Nodes
    from pykbroker.wire.message import Message


def the_only(partitions: Iterable[Any]) -> Any:
    """The answer for the one partition that was asked about. Raises its KafkaError, and UNKNOWN_SERVER_ERROR where a broker answers for others."""
    found = list(partitions)
    if len(found) != 1:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"asked about one partition, a broker answers for {len(found)}"
        )
    (answer,) = found
    if answer.error_code:
        raise KafkaError(error_code(answer.error_code), getattr(answer, "error_message", None))
    return answer


class RemotePeers:
    """See the module, and ``Peers``. ``listener`` is inter.broker.listener.name; what is not answered for ``limit_ms`` is lost."""

    def __init__(self, metadata: MetadataSource, nodes: Nodes, listener: str, limit_ms: float) -> None:
        self._metadata = metadata
        self._nodes = nodes
        self._listener = listener
        self._limit_ms = limit_ms

    def ask(self, node_id: int, request: Message, version: int) -> Deferred[Message]:
        """See ``Peers.ask``: in the highest version from ``version`` on that both know."""
        broker = self._metadata.image.brokers.get(node_id)
        endpoint = None if broker is None or broker.fenced else broker.endpoints.get(self._listener)
        if endpoint is None:
            error = KafkaError(
                ErrorCode.NETWORK_EXCEPTION, f"broker {node_id} has no listener {self._listener}, or does not run"
            )
            return Deferred.failed(error)
        address = Address(endpoint.host, endpoint.port)
        return self._nodes.ask(address, request, response_class(request.API_KEY), self._limit_ms, version)
