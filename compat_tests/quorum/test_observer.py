"""The metadata log of Apache Kafka's controllers, followed by a node of ours: byte for byte, over restarts and snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.harness.apache import ApacheController
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.node import OurNode, log_bytes
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

NAME = "log.retention.ms"


def alter(controller: ApacheController, value: str) -> None:
    """Have a record in the metadata log as soon as a controller leads: a setting of all brokers."""
    resource = AlterConfigsResource(BROKER_RESOURCE, "", [AlterableConfig(NAME, 0, value)])

    def is_done() -> bool:
        with closing(Connection(controller.bootstrap)) as connection:
            answer = connection.ask(IncrementalAlterConfigsRequest([resource]), 1)
        (error,) = [each.error_code for each in answer.responses]  # type: ignore[attr-defined]
        assert error in (ErrorCode.NONE, ErrorCode.NOT_CONTROLLER)
        return error == ErrorCode.NONE

    until_in_thread(is_done)


async def sees(node: OurNode, value: str) -> None:
    await node.until(lambda: node.image.config(BROKER_RESOURCE, "").get(NAME) == value or bool(node.failures))
    assert not node.failures


def is_a_prefix(node: OurNode, controller: ApacheController) -> None:
    """Of a log that grows: what the node has is what the controller has."""
    ours = log_bytes(node.folder)
    assert ours
    assert log_bytes(controller.data_dir).startswith(ours)


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[ApacheController]:
    controller = ApacheController(
        tmp_path / "controller",
        {"metadata.log.max.record.bytes.between.snapshots": "2000"},
        cluster_id="AAAAAAAAQACAAAAAAAAAAA",
    )
    controller.start()
    yield controller
    controller.stop()


def test_the_log_is_followed_over_restarts_and_kills(controller: ApacheController, tmp_path: Path) -> None:
    async def scenario() -> None:
        node = OurNode(tmp_path / "ours", controller.cluster_id(), [controller.controller])
        node.start()
        alter(controller, "1000001")
        await sees(node, "1000001")
        assert node.image.features["metadata.version"] > 0
        is_a_prefix(node, controller)

        node.stop()
        alter(controller, "1000002")
        node.start()
        await sees(node, "1000002")

        epoch = node.observing.observer.epoch
        controller.kill()
        controller.start()
        alter(controller, "1000003")
        await sees(node, "1000003")
        assert node.observing.observer.epoch > epoch
        is_a_prefix(node, controller)
        node.stop()

    asyncio.run(scenario())


def test_a_snapshot_is_taken_where_the_log_does_not_reach_back(controller: ApacheController, tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = controller.data_dir / "__cluster_metadata-0"
        value = 1_000_000
        while not has_snapshot(folder):
            value += 1
            alter(controller, str(value))
        controller.stop()
        newest = max(folder.glob("*.checkpoint"))
        for each in folder.glob("0*"):
            if each != newest:
                each.unlink()
        controller.start()
        node = OurNode(tmp_path / "ours", controller.cluster_id(), [controller.controller])
        node.start()
        alter(controller, "7")
        await sees(node, "7")
        assert node.copy.start_offset == int(newest.name.partition("-")[0])
        assert (node.folder / folder.name / newest.name).read_bytes() == newest.read_bytes()
        is_a_prefix(node, controller)
        node.stop()
        node.start()
        await sees(node, "7")
        node.stop()

    asyncio.run(scenario())


def has_snapshot(folder: Path) -> bool:
    """Whether there is one that is not of the first start."""
    return any(int(each.name.partition("-")[0]) for each in folder.glob("0*.checkpoint"))


def test_another_cluster_and_no_cluster(controller: ApacheController, tmp_path: Path) -> None:
    async def scenario() -> None:
        nobody = f"127.0.0.1:{free_ports(1)[0]}"
        stranger = OurNode(tmp_path / "other", "BBBBBBBBQACBBBBBBBBBBA", [nobody, controller.controller])
        stranger.start()
        await stranger.until(lambda: bool(stranger.failures))
        (sentence,) = stranger.failures
        assert sentence.startswith(
            f"The metadata log cannot be followed at {controller.controller}: the controllers are of another cluster: "
        )
        assert not log_bytes(stranger.folder)
        stranger.stop()

    asyncio.run(scenario())
