"""Stops and starts single brokers of a running process, while the others run."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.brokers.broker import WrongBroker
from pykbroker.process.life import awaited
from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.lifecycle import BrokerLifecycle
    from pykbroker.network.server import Server

log = logging.getLogger(__name__)


class SingleBrokers:
    """``running`` returns the brokers, or None while the process is stopping. ``changing`` is held during each change."""

    def __init__(
        self, ids: list[int], server: Server, changing: asyncio.Lock, running: Callable[[], BrokerLifecycle | None]
    ) -> None:
        self._ids = ids
        self._server = server
        self._changing = changing
        self._running = running

    async def stop(self, node_id: int, *, abrupt: bool = False) -> None:
        """Stop one broker.

        As Kafka's controlled shutdown: leadership moves to other replicas, connections are closed once they have their
        answers, the broker is fenced. With ``abrupt`` connections are cut first, as when a machine fails.
        Raises WrongBroker, or KafkaError KAFKA_STORAGE_ERROR if the metadata log cannot take the first step; the broker goes on then.
        """
        async with self._changing:
            lifecycle = self._governed()
            if node_id not in lifecycle.cluster.brokers:
                raise WrongBroker(self._not_one_of(node_id, "running"))
            if abrupt:
                self._server.sockets(node_id).cut()
            else:
                await awaited(lifecycle.begin_stop(node_id))
                await self._server.sockets(node_id).finish()
            crashes = abrupt and lifecycle.cluster.peers is not None
            await awaited(lifecycle.kill(node_id) if crashes else lifecycle.stop(node_id))
        log.info("Broker %d stopped%s", node_id, " abruptly" if abrupt else "")

    def fail(self, node_id: int) -> Deferred[None]:
        """End a broker that runs and cannot go on, as a machine that fails; while another change is under way it goes on."""
        lifecycle = self._running()
        if lifecycle is None or self._changing.locked():
            return Deferred.completed(None)
        self._server.sockets(node_id).cut()
        return lifecycle.fail(node_id)

    async def start(self, node_id: int) -> None:
        """Start a stopped broker on its ports. Its replicas are in sync when they have caught up; its leaderships return with an
        election.
        Raises WrongBroker, OSError if a port is in use or the log directories cannot be read, or KafkaError KAFKA_STORAGE_ERROR as ``stop``.
        """
        async with self._changing:
            lifecycle = self._governed()
            if node_id in lifecycle.cluster.brokers or node_id not in self._ids:
                raise WrongBroker(self._not_one_of(node_id, "stopped"))
            sockets = self._server.sockets(node_id)
            await sockets.open_again()
            try:
                await awaited(lifecycle.start(node_id))
            except BaseException:
                sockets.close()
                raise
            await sockets.start_serving()
        log.info("Broker %d started again", node_id)

    def describe(self, addresses: dict[int, str]) -> list[dict[str, Any]]:
        """The brokers for operators: id, state, address, and number of leaderships. Raises WrongBroker."""
        cluster = self._changeable().cluster
        leads = Counter(partition.leader for partition in cluster.partitions())
        return [
            {
                "id": node_id,
                "state": "running" if node_id in cluster.brokers else "stopped",
                "address": address,
                "leads": leads[node_id],
            }
            for node_id, address in addresses.items()
        ]

    def _changeable(self) -> BrokerLifecycle:
        """The brokers. Raises WrongBroker if the process is stopping."""
        lifecycle = self._running()
        if lifecycle is None:
            raise WrongBroker("the process of these brokers is stopping")
        return lifecycle

    def _governed(self) -> BrokerLifecycle:
        """The brokers, of a cluster whose controller is told here. Raises WrongBroker."""
        lifecycle = self._changeable()
        if not lifecycle.cluster.governs:
            raise WrongBroker("the controllers of this broker are other processes: stop and start its own process")
        return lifecycle

    def _not_one_of(self, node_id: int, state: str) -> str:
        brokers = self._changeable().cluster.brokers
        found = [str(each) for each in self._ids if (each in brokers) == (state == "running")]
        return f"broker {node_id} is not {state} in this process; these are: {', '.join(found) or 'none'}"
