"""A node of Apache Kafka, controller and broker, and a broker of ours in its cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import ServerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch


@pytest.fixture
def start() -> Iterator[Callable[[ServerProcess], None]]:
    """Starts nodes, which are killed in the end, if they still run."""
    nodes: list[ServerProcess] = []

    def started(node: ServerProcess) -> None:
        nodes.append(node)
        node.start()

    yield started
    for node in nodes:
        node.kill()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka 4.4.0, broker and controller of a cluster."""
    node = ApacheKafka(tmp_path_factory.mktemp("java"), standalone=True, flags=[*QUICK, "-Xmx300m"])
    node.start()
    yield node
    node.stop()


@pytest.fixture(scope="module")
def ours(java: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    """Our broker in its cluster."""
    member = Member(tmp_path_factory.mktemp("ours"), java, 4)
    member.start()
    yield member
    member.stop()


@pytest.fixture
def transactional(java: ApacheKafka, ours: Member) -> Callable[..., ErrorCode]:
    """Sends a transactional batch to a leader, in a version of Produce, to a partition that was not added to the transaction."""

    def send(transactional_id: str, topic: str, leader: int, *, version: int) -> ErrorCode:
        with closing(Connection(java.bootstrap, patience_s=60)) as connection:
            (coordinator,) = connection.ask(
                FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]), 4
            ).coordinators  # type: ignore[attr-defined]
        where = {1: java.bootstrap, 4: ours.bootstrap}
        begun = InitProducerIdResponse()

        def has_begun() -> bool:
            nonlocal begun
            with closing(Connection(where[coordinator.node_id], patience_s=60)) as connection:
                answer = connection.ask(InitProducerIdRequest(transactional_id, 60_000), 5)
            assert isinstance(answer, InitProducerIdResponse)
            loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR
            assert answer.error_code in (ErrorCode.NONE, *loading), answer
            begun = answer
            return bool(answer.error_code == ErrorCode.NONE)

        until_in_thread(has_begun)
        batch = encode_batch(
            [Record(timestamp=1, value=b"x")],
            producer_id=begun.producer_id,
            producer_epoch=begun.producer_epoch,
            base_sequence=0,
            transactional=True,
        )
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch)])
        codes: list[ErrorCode] = []

        def is_known() -> bool:
            with closing(Connection(where[leader], patience_s=60)) as connection:
                answer = connection.ask(ProduceRequest(transactional_id, -1, 30_000, [data]), version)
            codes[:] = [ErrorCode(answer.responses[0].partition_responses[0].error_code)]  # type: ignore[attr-defined]
            return codes[0] not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

        until_in_thread(is_known)  # the leader has heard of the topic
        return codes[0]

    return send
