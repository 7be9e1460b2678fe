"""Where the leaders are that an answer names, so that its client needs no Metadata request (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pykbroker.brokers.broker import Broker

E = TypeVar("E")


def leader_endpoints(broker: Broker, listener: str, leaders: Collection[int], endpoint: Callable[..., E]) -> list[E]:
    """The endpoints on ``listener`` of these brokers that clients may connect to; ``endpoint`` is the class in the answer."""
    if not leaders:
        return []
    return [
        endpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in broker.nodes(listener)
        if node.node_id in leaders
    ]
