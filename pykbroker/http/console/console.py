"""The state that the console's handlers share: brokers, counts, and active tails."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING

from pykbroker.http.console.in_process_client import InProcessClient
from pykbroker.http.principal import HttpPrincipal
from pykbroker.http.turn import Turn

if TYPE_CHECKING:
    from pykbroker.http.console.registry import ConsoleSchemas
    from pykbroker.http.metrics.meter import RequestMeter
    from pykbroker.process.node import Node
    from pykbroker.runtime.clock import Clock


class Console:
    """State of one HTTP side. ``clock`` is the system clock: the brokers' may be manual."""

    def __init__(self, node: Node, meter: RequestMeter, clock: Clock, registry: ConsoleSchemas | None = None) -> None:
        self.node = node
        self.meter = meter
        self.clock = clock
        self.brokers = InProcessClient(
            node.lifetimes, HttpPrincipal(node, ""), authorises=bool(node.config["authorizer.class.name"])
        )
        self.registry = registry
        #: Open connections that follow appended records.
        self.tails: set[asyncio.Task[None]] = set()

    def acting_for(self, host: str) -> Console:
        """Return the same console for who asks from an address: it has the state, and brokers of the asker."""
        made = copy.copy(self)
        made.brokers = self.brokers.acting_for(HttpPrincipal(self.node, host))
        return made

    def turn(self) -> Turn:
        """Return what divides work over turns of the loop."""
        return Turn(self.clock.monotonic, self.brokers.cluster())

    async def close(self) -> None:
        """Cancel the tails."""
        tails = list(self.tails)
        for each in tails:
            each.cancel()
        await asyncio.gather(*tails, return_exceptions=True)
