"""The ISR shrinks below ``min.insync.replicas`` between an append and its commit: what the producer is told where Apache Kafka leads, and where ours does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing

import pytest

from compat_tests.conftest import takes_long
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import state
from compat_tests.quorum.test_truncation import are_in_sync, made
from compat_tests.quorum.three import BROKERS, JAVA, OURS, Nodes
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

pytestmark = takes_long

#: Longer than the broker that leads needs to notice that the others lag, on a slow machine too.
_TIMEOUT_MS = 40_000


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("nodes"), session_ms=15_000)
    yield nodes
    nodes.stop()


def produced(nodes: Nodes, leads: int, topic: str) -> ErrorCode:
    """The code of a record with acks=all."""
    data = [PartitionProduceData(0, encode_batch([Record(timestamp=1, value=b"more")]))]
    with closing(Connection(nodes.brokers[leads].bootstrap, patience_s=120)) as connection:
        answer = connection.ask(
            ProduceRequest(None, -1, _TIMEOUT_MS, [TopicProduceData(topic, partition_data=data)]), 9
        )
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)  # type: ignore[attr-defined]


@pytest.mark.parametrize("comes_back", [False, True])
@pytest.mark.parametrize("leads", [JAVA, OURS])
def test_too_few_after_the_append(leads: int, comes_back: bool, nodes: Nodes) -> None:
    others = sorted(BROKERS - {leads})
    topic = made(nodes, [leads, *others], **{"min.insync.replicas": "2"})
    for other in others:
        nodes.pause(other)
    with ThreadPoolExecutor(1) as threads:
        code: Future[ErrorCode] = threads.submit(produced, nodes, leads, topic)
        until_in_thread(lambda: state(nodes.brokers[leads].bootstrap, topic)[1] == {leads})
        assert not code.done()
        assert produced(nodes, leads, topic) == ErrorCode.NOT_ENOUGH_REPLICAS
        if comes_back:
            nodes.bring_back(others[0])
        assert code.result() == (ErrorCode.NONE if comes_back else ErrorCode.REQUEST_TIMED_OUT)
    for other in others:
        nodes.bring_back(other)
    until_in_thread(lambda: are_in_sync(nodes, topic, [leads, *others]))
