"""Log directories of a broker of ours, as Apache Kafka's controllers hear of them: moved, failed and cordoned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, consume, create, produce, state
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.metadata import MetadataRequest

NODE, BROKER_RESOURCE, SET, DELETE = 5, 4, 0, 1


@pytest.fixture(params=["ours", pytest.param("java", marks=takes_long)])
def broker(request: pytest.FixtureRequest, java: ApacheKafka, tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker beside Apache Kafka's with two log directories, which it looks at twice a second."""
    settings = {
        "log.dirs": f"{tmp_path / 'one'},{tmp_path / 'two'}",
        "metadata.log.dir": str(tmp_path / "one"),
        "log.flush.offset.checkpoint.interval.ms": "500",
        "replica.high.watermark.checkpoint.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
        "broker.heartbeat.interval.ms": "500",
    }
    made: BrokerProcess
    if request.param == "ours":
        made = Member(tmp_path / "broker", java, NODE, settings)
    else:
        made = ApacheBroker(tmp_path / "broker", java, NODE, settings)
        made.flags = [*QUICK, "-Xmx300m"]
        made.data_dir = tmp_path / "one"
    made.start()
    yield made
    made.kill()


def where(broker: BrokerProcess, topic: str) -> list[str]:
    """The log directories with a replica of the topic, as the broker says, and in which none is being moved."""
    with closing(Connection(broker.bootstrap, patience_s=60)) as connection:
        found = connection.ask(DescribeLogDirsRequest(None), 4).results  # type: ignore[attr-defined]
    of_topic = [
        (each.log_dir, part)
        for each in found
        for named in each.topics
        if named.name == topic
        for part in named.partitions
    ]
    return [] if any(part.is_future_key for _, part in of_topic) else [Path(each).name for each, _ in of_topic]


def brokers(node: BrokerProcess) -> set[int]:
    """The brokers that are not fenced, as a node says."""
    with closing(Connection(node.bootstrap, patience_s=60)) as connection:
        return {each.node_id for each in connection.ask(MetadataRequest([]), 9).brokers}  # type: ignore[attr-defined]


def moved(broker: BrokerProcess, topic: str, path: Path) -> None:
    """Move the replica into a log directory, and wait until it is there."""
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir(str(path), [AlterReplicaLogDirTopic(topic, [0])])])

    def is_taken() -> bool:
        with closing(Connection(broker.bootstrap, patience_s=60)) as connection:
            (result,) = connection.ask(request, 2).results  # type: ignore[attr-defined]
        return bool(result.partitions[0].error_code == ErrorCode.NONE)

    until_in_thread(is_taken)
    until_in_thread(lambda: where(broker, topic) == [path.name])


def test_a_disk_that_fails(broker: BrokerProcess, java: ApacheKafka, tmp_path: Path) -> None:
    """What lies in another directory stays; a replica that was moved into the failed one leads no more, since the controllers know where it is."""
    stays, goes = (create(java.bootstrap, [NODE, 1]) for _ in range(2))
    for topic, directory in ((stays, "one"), (goes, "two")):
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic) == (NODE, {1, NODE}))
        produce(java.bootstrap, topic, [b"before"])
        moved(broker, topic, tmp_path / ("two" if directory == "one" else "one"))
        moved(broker, topic, tmp_path / directory)
    (tmp_path / "two").rename(tmp_path / "away")
    (tmp_path / "two").touch()
    # the open file takes it; then the checkpoint of the high watermark cannot be written
    produce(java.bootstrap, goes, [b"meanwhile"], enable_idempotence="true")
    until_in_thread(lambda: state(java.bootstrap, goes) == (1, {1}))
    assert state(java.bootstrap, stays) == (NODE, {1, NODE})
    for topic in (stays, goes):
        produce(java.bootstrap, topic, [b"after"])
    assert consume(java.bootstrap, stays, 2) == [b"before", b"after"]
    assert consume(java.bootstrap, goes, 3) == [b"before", b"meanwhile", b"after"]


def test_the_disk_with_the_metadata_fails(broker: BrokerProcess, java: ApacheKafka, tmp_path: Path) -> None:
    """The broker ends by itself, with a status that says so, and the others lead."""
    topic = create(java.bootstrap, [NODE, 1])
    until_in_thread(lambda: state(java.bootstrap, topic) == (NODE, {1, NODE}))
    (tmp_path / "one").rename(tmp_path / "away")
    (tmp_path / "one").touch()
    process = broker.process
    assert process is not None
    assert process.wait(60) > 0
    until_in_thread(lambda: state(java.bootstrap, topic) == (1, {1}))


def test_directories_that_are_cordoned(broker: BrokerProcess, java: ApacheKafka) -> None:
    """The setting comes by the metadata; the controllers place nothing there from then on."""
    topic = CreatableTopic("never", -1, -1, [CreatableReplicaAssignment(0, [NODE])])
    create(java.bootstrap, [NODE])

    def answer() -> int:
        with closing(Connection(java.bootstrap, patience_s=60)) as connection:
            (found,) = connection.ask(CreateTopicsRequest([topic], 60_000, True), 7).topics  # type: ignore[attr-defined]
        return int(found.error_code)

    def alter(operation: int, value: str | None) -> None:
        resource = AlterConfigsResource(
            BROKER_RESOURCE, str(NODE), [AlterableConfig("cordoned.log.dirs", operation, value)]
        )
        with closing(Connection(broker.bootstrap, patience_s=60)) as connection:
            (done,) = connection.ask(IncrementalAlterConfigsRequest([resource]), 1).responses  # type: ignore[attr-defined]
        assert not done.error_code, done

    alter(SET, "*")
    until_in_thread(lambda: answer() == ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert NODE in brokers(java)  # it is not fenced
    alter(DELETE, None)
    until_in_thread(lambda: answer() == ErrorCode.NONE)
