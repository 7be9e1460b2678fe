"""Three controllers of Apache Kafka, a broker of its, and one of ours: the controller that leads is killed and paused, and ours follows the next one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheBroker, ApacheController
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import stop_turns
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.clients import Clients, Ledger
from compat_tests.quorum.member import Member, create, log_of, state
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

CONTROLLERS, JAVA, OURS = (11, 12, 13), 2, 3
_SETTINGS = {"broker.session.timeout.ms": "6000"}


class Nodes:
    """The nodes. Ours is told of a controller that is not there, and of the others."""

    def __init__(self, folder: Path) -> None:
        nowhere, *ports = free_ports(1 + len(CONTROLLERS))
        voters = dict(zip(CONTROLLERS, ports, strict=True))
        self.controllers: dict[int, ApacheController] = {}
        cluster_id: str | None = None
        for node in CONTROLLERS:
            made = ApacheController(
                folder / f"controller{node}", dict(_SETTINGS), node_id=node, voters=voters, cluster_id=cluster_id
            )
            self.controllers[node], cluster_id = made, made.cluster_id()
            made.prepare()
            made.launch()
        first = self.controllers[CONTROLLERS[0]]
        static = ",".join(f"{node}@127.0.0.1:{port}" for node, port in voters.items())
        self.java = ApacheBroker(folder / "java", first, JAVA, {**_SETTINGS, "controller.quorum.voters": static})
        self.java.flags = [*QUICK, "-Xmx300m"]
        self.java.prepare()
        self.java.launch()
        servers = ",".join(f"127.0.0.1:{port}" for port in (nowhere, *ports))
        self.ours = Member(folder / "ours", first, OURS, {**_SETTINGS, "controller.quorum.bootstrap.servers": servers})
        self.ours.start()
        self.java.await_ready()

    def stop(self) -> None:
        for each in (self.ours, self.java, *self.controllers.values()):
            each.kill()

    def leads(self, but: int | None = None) -> int:
        """The controller that leads, once it is another one than ``but``, as our broker is told by it."""
        request = DescribeQuorumRequest(
            [DescribeQuorumRequestTopicData("__cluster_metadata", [DescribeQuorumRequestPartitionData(0)])]
        )
        found: list[int] = []

        def is_another() -> bool:
            with closing(Connection(self.ours.bootstrap, patience_s=60)) as connection:
                answer = connection.ask(request, 2)
            if not answer.error_code:  # type: ignore[attr-defined]
                found[:] = [answer.topics[0].partitions[0].leader_id]  # type: ignore[attr-defined]
            return bool(found) and found != [but]

        until_in_thread(is_another)
        return found[0]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path)
    yield nodes
    nodes.stop()


@takes_long
def test_ours_follows_the_controller_that_leads(nodes: Nodes) -> None:
    """Requests are forwarded to the next one, and it takes changes of the ISR and heartbeats: nobody is fenced, and ours registers once."""
    ours = nodes.ours
    topic = create(ours.bootstrap, [OURS, JAVA], min_insync_replicas="2")
    ledger = Ledger(f"{ours.bootstrap},{nodes.java.bootstrap}", topic)
    client = Clients(ledger.step)

    def works() -> None:
        moving = create(ours.bootstrap, [OURS])
        reassigned = ReassignableTopic(moving, [ReassignablePartition(0, [OURS, JAVA])])
        with closing(Connection(ours.bootstrap, patience_s=60)) as connection:
            answer = connection.ask(AlterPartitionReassignmentsRequest(topics=[reassigned]), 1)
        assert not answer.error_code, answer  # type: ignore[attr-defined]
        for each in (ours, nodes.java):
            until_in_thread(lambda each=each: state(each.bootstrap, moving) == (OURS, {OURS, JAVA}))
        client.goes_on()

    works()
    killed = nodes.leads()
    nodes.controllers[killed].kill()
    works()
    paused = nodes.leads(but=killed)
    nodes.controllers[killed].start()
    stop_turns(nodes.controllers[paused].pid)
    works()
    last = nodes.leads(but=paused)
    os.kill(nodes.controllers[paused].pid, signal.SIGCONT)
    works()
    client.end()
    count = ledger.check()
    assert state(ours.bootstrap, topic) == (OURS, {OURS, JAVA})
    until_in_thread(lambda: log_of(ours, topic) == log_of(nodes.java, topic))
    log = ours.log_file.read_text()
    assert log.count("Registered with the controllers") == 1
    print(f"{killed} killed, {paused} paused, {last} leads; {count} records, ten in at most {client.longest_s:.1f} s")
