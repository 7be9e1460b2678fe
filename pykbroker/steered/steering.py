"""The objects behind the API, which it shares with the Python API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pykbroker.requests.pipeline import Place, through
from pykbroker.steered.embedded import Embedded
from pykbroker.steered.outcomes import Outcomes
from pykbroker.steered.refusal import BETWEEN, Refusal
from pykbroker.steered.request_log import RequestLog

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.node import Node
    from pykbroker.runtime.waits import Deferred
    from pykbroker.seeding.seed import Seed
    from pykbroker.steered.clock import ManualTime

T = TypeVar("T")


class Steering:
    """State of the API, on the brokers' loop.

    ``log`` is the request log of a test, which records from the start; without one, requests are recorded on demand.
    """

    def __init__(self, host: Embedded, log: RequestLog | None = None) -> None:
        self.host = host
        self.requests = log or RequestLog()
        self.of_a_test = log is not None
        self._noted = log is not None
        #: Resets are done one after the other.
        self.living = asyncio.Lock()
        self._outcomes = Outcomes()
        self._before = host.ending
        host.ending = self._ending

    @property
    def node(self) -> Node:
        return self.host.node

    def cluster(self) -> Cluster:
        """Return the cluster. Raises Refusal while the process stops or is reset."""
        cluster = self.node.current
        if cluster is None:
            raise Refusal(503, BETWEEN)
        return cluster

    async def outcome(self, wait: Deferred[T]) -> T:
        """Return the result of a wait. Raises its error, and Refusal if the brokers are reset meanwhile."""
        return await self._outcomes.of(wait)

    @property
    def noting(self) -> bool:
        """Whether requests are recorded."""
        return self._noted

    def note(self, *, on: bool) -> None:
        """Record requests from now on, or stop recording. Raises Refusal."""
        if self.of_a_test:
            if not on:
                raise Refusal(409, "a test's broker records all requests, for the test")
            return
        places = self.node.server.dispatcher.places
        if on and not self._noted:
            places.fill(Place.OBSERVE, through(self.requests))
        elif self._noted and not on:
            places.empty(Place.OBSERVE)
        self._noted = on

    def _ending(self) -> None:
        self._before()
        self._outcomes.drop()
        self.requests.clear()
        self.node.faults.clear()

    def close(self) -> None:
        """Remove the request log, if the API installed one."""
        self.host.ending = self._before
        if self._noted and not self.of_a_test:
            self.node.server.dispatcher.places.empty(Place.OBSERVE)
            self._noted = False


def of_node(node: Node, folder: Path | None, seed: Seed | None = None, time: ManualTime | None = None) -> Steering:
    """Return the state for a node that ``serve`` runs.

    ``folder`` has its data and snapshots, if they are temporary; ``seed`` is imported again after each reset.
    """
    host = Embedded.of_node(node, asyncio.get_running_loop(), folder)
    host.seed, host.time = seed, time
    return Steering(host)
