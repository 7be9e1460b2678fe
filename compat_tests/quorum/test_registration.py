"""A node of ours that Apache Kafka's controller takes for a broker: registered, unfenced, given partitions, and let go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.harness.apache import ApacheController
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.node import OurNode
from pykbroker.quorum.controller_session import ControllerSession
from pykbroker.quorum.lifecycle import BrokerState
from pykbroker.quorum.remote_controller import RemoteController
from pykbroker.tests.kit.running import ended, until_in_thread
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages import alter_partition
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[ApacheController]:
    controller = ApacheController(tmp_path / "controller", cluster_id="AAAAAAAAQACAAAAAAAAAAA")
    controller.start()
    yield controller
    controller.stop()


async def create(controller: ApacheController, name: str) -> list[int]:
    """The error of a topic that the controller places on brokers that are not fenced; as soon as one leads. The node goes on meanwhile."""
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    errors: list[int] = []

    def is_decided() -> bool:
        with closing(Connection(controller.bootstrap)) as connection:
            answer = connection.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
        errors[:] = [each.error_code for each in answer.topics]  # type: ignore[attr-defined]
        return errors != [ErrorCode.NOT_CONTROLLER]

    await asyncio.to_thread(until_in_thread, is_decided)
    return errors


async def reaches(node: OurNode, session: ControllerSession, state: BrokerState) -> None:
    await node.until(lambda: session.lifecycle.state in (state, BrokerState.SHUTTING_DOWN) or bool(node.failures))
    assert (session.lifecycle.state, session.lifecycle.reason, node.failures) == (state, "", [])


def leader(node: OurNode, topic: str) -> int | None:
    partition = node.image.partition(topic, 0)
    return None if partition is None else partition.leader


def test_a_broker_from_its_registration_to_its_end(controller: ApacheController, tmp_path: Path) -> None:
    async def scenario() -> None:
        node = OurNode(tmp_path / "ours", controller.cluster_id(), [controller.controller])
        node.start()
        session = node.register()
        await reaches(node, session, BrokerState.RECOVERY)
        assert node.image.brokers[4].fenced
        assert await create(controller, "early") == [ErrorCode.INVALID_REPLICATION_FACTOR]  # the only broker is fenced
        session.ready()
        await reaches(node, session, BrokerState.RUNNING)
        await node.until(lambda: not node.image.brokers[4].fenced)
        assert node.image.brokers[4].epoch == session.lifecycle.epoch

        assert await create(controller, "t") == [0]
        await node.until(lambda: leader(node, "t") == 4)

        # a killed node comes back as another incarnation: once its session has ended
        node.stop()
        node.start()
        former, session = session, node.register()
        session.ready()
        await reaches(node, session, BrokerState.RUNNING)
        assert session.lifecycle.epoch > former.lifecycle.epoch

        # the controller is killed, and the session goes on
        epoch = session.lifecycle.epoch
        controller.kill()
        await asyncio.to_thread(controller.start)
        assert await create(controller, "u") == [0]
        await node.until(lambda: leader(node, "u") == 4)
        assert session.lifecycle.epoch == epoch

        session.begin_shutdown()
        await reaches(node, session, BrokerState.SHUTTING_DOWN)
        await node.until(lambda: node.image.brokers[4].fenced and leader(node, "u") == -1)

        # after a clean end the replica is what it was
        node.stop()
        node.start()
        session = node.register(previous_epoch=epoch)
        session.ready()
        await reaches(node, session, BrokerState.RUNNING)
        await node.until(lambda: leader(node, "u") == 4)
        node.stop()

    asyncio.run(scenario())


def test_what_a_broker_asks_the_controller_for(controller: ApacheController, tmp_path: Path) -> None:
    """Blocks of producer ids, the ISR of what it leads, and where its replicas lie, over a kill of the controller."""

    async def scenario() -> None:
        node = OurNode(tmp_path / "ours", controller.cluster_id(), [controller.controller])
        node.start()
        session = node.register()
        session.ready()
        await reaches(node, session, BrokerState.RUNNING)
        epoch = session.lifecycle.epoch
        remote = RemoteController(node.observing, node.connections, node.runtime, lambda: epoch, 60_000)
        first, second = [await ended(remote.allocate_producer_ids(4)) for _ in range(2)]
        assert len(first) == len(second) == 1000
        assert second.start == first.stop
        stale = remote.allocate_producer_ids(4, broker_epoch=epoch + 1)
        with pytest.raises(KafkaError) as refused:
            await ended(stale)
        assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH

        assert await create(controller, "t") == [0]
        await node.until(lambda: leader(node, "t") == 4)
        topic = node.image.topic("t")
        assert topic is not None
        partition = topic.partitions[0]
        for leader_epoch, error in (
            (partition.leader_epoch, ErrorCode.NONE),
            (partition.leader_epoch + 5, ErrorCode.NOT_CONTROLLER),
        ):
            isr = [alter_partition.BrokerState(4, epoch)]
            item = alter_partition.AlterPartitionRequestPartitionData(
                0, leader_epoch, new_isr_with_epochs=isr, partition_epoch=partition.partition_epoch
            )
            changed = alter_partition.AlterPartitionRequestTopicData(topic_id=topic.id, partitions=[item])
            request = alter_partition.AlterPartitionRequest(4, epoch, [changed])
            altered = await ended(remote.alter_partition(request))
            assert [each.error_code for each in altered.topics[0].partitions] == [error]

        controller.kill()
        waiting = remote.allocate_producer_ids(4)
        await asyncio.to_thread(controller.start)
        assert (await ended(waiting)).start >= second.stop
        node.stop()

    asyncio.run(scenario())


def test_a_node_id_in_use(controller: ApacheController, tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = (
            OurNode(tmp_path / name, controller.cluster_id(), [controller.controller]) for name in ("first", "second")
        )
        first.start()
        running = first.register()
        running.ready()
        await reaches(first, running, BrokerState.RUNNING)
        second.start()
        await second.until(lambda: 4 in second.image.brokers)
        refused = second.register(patience_ms=0)
        await second.until(lambda: refused.lifecycle.state is BrokerState.SHUTTING_DOWN)
        assert refused.lifecycle.reason.startswith("another broker with node.id 4 is running: ")
        assert running.lifecycle.state is BrokerState.RUNNING
        first.stop()
        second.stop()

    asyncio.run(scenario())
