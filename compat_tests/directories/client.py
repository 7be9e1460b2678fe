"""A raw client that waits for a broker which has just started, and for changes to be seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from compat_tests.harness.awaiting import LIMIT_S, eventually
from compat_tests.oracle.connection import Connection
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)

#: Errors that say "not yet": unknown topic, no leader, coordinators that load, a transaction about to end.
NOT_YET = (3, 5, 6, 14, 15, 16, 51)
GROUP, TRANSACTION = 0, 1
TOPIC, BROKER = 2, 4
_SET, _DELETE = 0, 1


class Client:
    """One connection. What a request is refused for raises AssertionError, and "not yet" is asked again."""

    def __init__(self, bootstrap: str) -> None:
        self._connection = Connection(bootstrap)

    def close(self) -> None:
        self._connection.close()

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request, once; the answer as decoded."""
        return self._connection.ask(request, version)

    def until(self, good: Callable[[Any], object], request: Message, version: int) -> Any:
        """Asks until the answer is as wanted, for LIMIT_S at most."""
        deadline = time.monotonic() + LIMIT_S
        while not good(answer := self.ask(request, version)):
            assert time.monotonic() < deadline, answer
            time.sleep(0.02)
        return answer

    def served(self) -> None:
        """Waits until the broker has taken up its work: every partition has a leader that answers."""

        found = self.until(lambda found: found.brokers and _no_error(found), MetadataRequest(None), 12)
        asked = [
            ListOffsetsTopic(t.name, [ListOffsetsPartition(p.partition_index, -1, -1) for p in t.partitions])
            for t in found.topics
        ]
        self.until(_no_error, ListOffsetsRequest(-1, 0, asked), 7)

    # ---- topics

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """``_`` in the name of a setting stands for a dot. Waits until the topic is served."""
        settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
        created = self.ask(CreateTopicsRequest([CreatableTopic(topic, partitions, 1, [], settings)], 10_000), 7)
        assert created.topics[0].error_code == 0, created
        self.await_topic(topic)

    def await_topic(self, topic: str) -> None:
        asked = MetadataRequest([MetadataRequestTopic(name=topic)], False)
        found = self.until(lambda found: found.topics[0].error_code == 0, asked, 12).topics[0]
        parts = [ListOffsetsPartition(p.partition_index, -1, -1) for p in found.partitions]
        self.until(_no_error, ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, parts)]), 7)

    def delete(self, topic: str) -> None:
        """Waits until the topic is gone."""
        answer = self.ask(DeleteTopicsRequest([DeleteTopicState(topic)], timeout_ms=10_000), 6)
        assert answer.responses[0].error_code == 0, answer
        asked = MetadataRequest([MetadataRequestTopic(name=topic)], False)
        self.until(lambda found: found.topics[0].error_code == 3, asked, 12)

    def alter(self, kind: int, name: str, changes: dict[str, str | None]) -> None:
        """Sets settings of a topic or a broker, or with None removes them."""
        configs = [
            AlterableConfig(setting, _DELETE if value is None else _SET, value) for setting, value in changes.items()
        ]
        answer = self.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)]), 1)
        assert answer.responses[0].error_code == 0, answer

    def delete_records(self, topic: str, offset: int) -> None:
        asked = DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])
        answer = self.ask(DeleteRecordsRequest([asked], 10_000), 2).topics[0].partitions[0]
        assert (answer.error_code, answer.low_watermark) == (0, offset), answer

    # ---- records and offsets

    def try_to_produce(self, topic: str, batch: bytes, partition: int = 0) -> PartitionProduceResponse:
        """One attempt; the partition's answer, whatever it says."""
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(partition, batch)])]
        answer: PartitionProduceResponse = (
            self.ask(ProduceRequest(None, -1, 10_000, data), 9).responses[0].partition_responses[0]
        )
        return answer

    def produce(self, topic: str, batch: bytes, partition: int = 0) -> int:
        """Appends a batch; its base offset. Apache Kafka leads nothing for a moment where its session ended, since this machine stood still."""
        answer = eventually(
            lambda: self.try_to_produce(topic, batch, partition), lambda found: found.error_code not in NOT_YET
        )
        assert answer.error_code == 0, answer
        return answer.base_offset

    def producer_id(self) -> int:
        """A new producer's id."""
        answer = self.until(lambda found: found.error_code not in NOT_YET, InitProducerIdRequest(None, 60_000), 4)
        assert answer.error_code == 0, answer
        return int(answer.producer_id)

    def coordinated(self, key: str, kind: int = GROUP) -> None:
        """Waits until somebody coordinates the group or the transactional id."""
        self.until(lambda found: found.error_code == 0, FindCoordinatorRequest(key=key, key_type=kind), 3)

    def commit(self, group: str, topic: str, offsets: Sequence[int], metadata: str = "") -> None:
        """Commits an offset for each partition, from 0 on, as a consumer without a group would."""
        self.coordinated(group)
        parts = [OffsetCommitRequestPartition(index, offset, 0, metadata) for index, offset in enumerate(offsets)]
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, partitions=parts)])

        def settled(found: Any) -> bool:
            return found.topics[0].partitions[0].error_code not in NOT_YET

        answer = self.until(settled, request, 8)
        assert all(part.error_code == 0 for part in answer.topics[0].partitions), answer


def _no_error(found: Any) -> bool:
    return all(part.error_code == 0 for topic in found.topics for part in topic.partitions)


def wait_until(fact: Callable[[], bool], what: str) -> None:
    """Looks again and again, for LIMIT_S at most."""
    deadline = time.monotonic() + LIMIT_S
    while not fact():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)
