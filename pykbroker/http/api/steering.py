"""What the interface drives: the objects that the Python interface drives, too."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pykbroker.http.api.refusal import Refusal
from pykbroker.testing.embedded import Embedded
from pykbroker.testing.request_log import RequestLog

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.node import Node


class Steering:
    """``log`` is the log of requests of a test, which notes them from the start; without one they are noted when that is
    asked for. It belongs to the loop.
    """

    def __init__(self, host: Embedded, log: RequestLog | None = None) -> None:
        self.host = host
        self.requests = log or RequestLog()
        self.of_a_test = log is not None
        self._noted = log is not None
        #: One life after the other.
        self.living = asyncio.Lock()
        self._before = host.ending
        host.ending = self._ending

    @property
    def node(self) -> Node:
        return self.host.node

    def cluster(self) -> Cluster:
        """Raises Refusal between two lives."""
        cluster = self.node.current
        if cluster is None:
            raise Refusal(503, "the process is stopping, or begins anew")
        return cluster

    @property
    def noting(self) -> bool:
        """Whether requests are noted."""
        return self._noted

    def note(self, *, on: bool) -> None:
        """Note requests from now on, or no more. Raises Refusal."""
        if self.of_a_test:
            if not on:
                raise Refusal(409, "a test's broker notes all requests, for the test")
            return
        dispatcher = self.node.server.dispatcher
        if on and not self._noted:
            dispatcher.add_step(self.requests)
        elif self._noted and not on:
            dispatcher.remove_step(self.requests)
        self._noted = on

    def _ending(self) -> None:
        self._before()
        self.requests.clear()
        self.node.faults.clear()

    def close(self) -> None:
        """Leave all as it was found."""
        self.host.ending = self._before
        if self._noted and not self.of_a_test:
            self.node.server.dispatcher.remove_step(self.requests)
            self._noted = False


def of_node(node: Node, folder: Path | None) -> Steering:
    """Of a node that ``serve`` runs. ``folder`` is where its data and what is kept of them lie, if they go with it."""
    return Steering(Embedded.of_node(node, asyncio.get_running_loop(), folder))
