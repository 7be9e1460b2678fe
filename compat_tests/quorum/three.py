"""Three brokers, of Apache Kafka and of ours, with a controller of Apache Kafka, which may be killed, stopped and paused."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from pathlib import Path

from compat_tests.harness.apache import ApacheBroker, ApacheController
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import BrokerProcess, stop_turns
from compat_tests.quorum.member import Member, state
from pykbroker.tests.kit.ports import free_ports

CONTROLLER, JAVA, OURS, OTHER = 1, 2, 3, 4
BROKERS = {JAVA, OURS, OTHER}
_COPIES = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "3",
    "replica.lag.time.max.ms": "3000",
}


class Nodes:
    """The nodes by id, and what may happen to them."""

    def __init__(self, folder: Path, javas: Collection[int] = (JAVA,), *, session_ms: int = 3000) -> None:
        """``javas`` are the brokers that are Apache Kafka's."""
        (port,) = free_ports(1)
        settings = {"broker.session.timeout.ms": str(session_ms)}
        copies = {**_COPIES, **settings}
        self.controller = ApacheController(
            folder / "controller", settings, node_id=CONTROLLER, voters={CONTROLLER: port}
        )
        self.controller.start()
        voters = {"controller.quorum.bootstrap.servers": "", "controller.quorum.voters": f"1@127.0.0.1:{port}"}
        self.brokers: dict[int, BrokerProcess] = {}
        for node, more in ((JAVA, {}), (OURS, {}), (OTHER, voters)):
            if node in javas:
                self.brokers[node] = java = ApacheBroker(folder / f"java{node}", self.controller, node, copies)
                java.flags = [*QUICK, "-Xmx300m"]
            else:
                self.brokers[node] = Member(folder / f"ours{node}", self.controller, node, copies | more)
        for broker in self.brokers.values():
            broker.start()

    @property
    def bootstrap(self) -> str:
        return ",".join(each.bootstrap for each in self.brokers.values())

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.controller.kill()

    def kill(self, node: int) -> None:
        self.brokers[node].kill()

    def end(self, node: int) -> None:
        self.brokers[node].stop()

    def pause(self, node: int) -> None:
        stop_turns(self.brokers[node].pid)

    def bring_back(self, node: int) -> None:
        broker = self.brokers[node]
        if broker.process is None:
            broker.start()
        else:
            os.kill(broker.pid, signal.SIGCONT)

    def has_all(self, topic: str, but: int | None = None) -> bool:
        """Whether all replicas of a topic are in sync, or all but one, as each broker that runs sees it."""
        for node, broker in self.brokers.items():
            if node != but:
                try:
                    leader, isr = state(broker.bootstrap, topic)
                except OSError:
                    return False
                if leader < 0 or isr != BROKERS - {but}:
                    return False
        return True
