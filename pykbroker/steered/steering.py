"""What of a process can be steered from outside: the objects behind the control socket, the HTTP interface and the Python one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.temporary import TESTS, TemporaryFolder
from pykbroker.steered.outcomes import outcome, present
from pykbroker.steered.refusal import VerbRefused
from pykbroker.steered.request_log import RequestLog
from pykbroker.steered.snapshots import Snapshots

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.life import Life
    from pykbroker.process.node import Node, Prepare
    from pykbroker.runtime.waits import Deferred
    from pykbroker.steered.chaos import ChaosControl
    from pykbroker.steered.clock import ManualTime

T = TypeVar("T")


class Steering:
    """State of the interfaces, on the brokers' loop.

    ``log`` is the request log of a test, which records from the start; without one, requests are recorded on demand.
    """

    def __init__(
        self, node: Node, snapshots: Snapshots, time: ManualTime | None = None, log: RequestLog | None = None
    ) -> None:
        self.node = node
        self.snapshots = snapshots
        #: The manual clock, if there is one.
        self.time = time
        self.requests = log or RequestLog()
        self._chaos: ChaosControl | None = None
        self.of_a_test = log is not None
        self._noted = log is not None
        self._leave = node.lifetimes.follow(self._began)

    def _began(self, life: Life) -> None:
        if not self.of_a_test:
            life.at_end(self.requests.clear)

    @property
    def chaos(self) -> ChaosControl:
        """Chaos in the process, none at first."""
        if self._chaos is None:
            from pykbroker.steered.chaos import ChaosControl

            self._chaos = ChaosControl(self.node)
        return self._chaos

    def cluster(self) -> Cluster:
        """Return the cluster. Raises VerbRefused while the process stops or is reset."""
        return present(self.node.lifetimes)

    async def outcome(self, wait: Deferred[T]) -> T:
        """Return the result of a wait. Raises its error, and VerbRefused if the brokers are reset meanwhile."""
        return await outcome(self.node.lifetimes, wait)

    @property
    def noting(self) -> bool:
        """Whether requests are recorded."""
        return self._noted

    def note(self, *, on: bool) -> None:
        """Record requests from now on, or stop recording. Raises VerbRefused."""
        if self.of_a_test:
            if not on:
                raise VerbRefused(409, "a test's broker records all requests, for the test")
            return
        places = self.node.server.dispatcher.places
        if on and not self._noted:
            places.fill(Place.OBSERVE, through(self.requests))
        elif self._noted and not on:
            places.empty(Place.OBSERVE)
        self._noted = on

    def close(self) -> None:
        """Remove the request log and the snapshots, if they are not those of a test."""
        self._leave()
        if self._chaos is not None:
            self._chaos.close()
        if not self.of_a_test:
            self.note(on=False)
            self.snapshots.close()


def of_node(node: Node, folder: Path | None, seed: Prepare | None = None, time: ManualTime | None = None) -> Steering:
    """Return the state for a node that ``serve`` runs.

    ``folder`` has its data, if that is temporary, and snapshots in it; ``seed`` is carried out again after each reset.
    """
    temporary = None if folder is None else TemporaryFolder(TESTS, folder)
    return Steering(node, Snapshots(node, temporary, permanent=folder is None, seed=seed), time)
