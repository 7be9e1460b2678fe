"""Which replica consumers with a rack are sent to, where each broker has its own copies: what they have counts."""

from __future__ import annotations

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch


class Racks(MemoryCluster):
    """Broker 1 leads in rack a, 2 and 3 follow in rack b."""

    def __init__(self) -> None:
        selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        racks = {1: "a", 2: "b", 3: "b"}
        super().__init__(brokers=3, own_stores=True, racks=racks, replica_selector_class=selector)
        self.create(NewTopic("t", assignments=[(0, [1, 2, 3])]))
        self.turns()

    def turns(self) -> None:
        for _ in range(30):
            self.run_turn()

    def without_copies_on(self, *brokers: int) -> None:
        assert self.cluster.peers is not None
        self.cluster.peers.cut = {(broker, 1) for broker in brokers}

    def append(self) -> None:
        data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, encode_batch([Record(value=b"a")]))])]
        self.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=data), 9, broker=1)
        self.turns()

    def preferred(self, rack: str, offset: int) -> int:
        asked = [FetchTopic("t", partitions=[FetchPartition(0, -1, offset, -1, -1, 10_000)])]
        request = FetchRequest(replica_id=-1, max_bytes=10_000, session_epoch=-1, topics=asked, rack_id=rack)
        found: int = self.ask(request, 11, broker=1).responses[0].partitions[0].preferred_read_replica
        return found


def test_a_replica_of_the_rack_that_has_the_offset_and_most_beyond_it() -> None:
    racks = Racks()
    racks.append()
    assert racks.preferred("b", 0) == 3
    assert racks.preferred("a", 0) == -1  # it is the leader's
    racks.without_copies_on(3)
    racks.append()
    assert racks.preferred("b", 0) == 2
    assert racks.preferred("b", 1) == 2
    racks.without_copies_on(2, 3)
    racks.append()
    assert racks.preferred("b", 2) == 2
    assert racks.preferred("b", 3) == -1  # nobody there has so much


def test_a_broker_that_is_away_is_not_chosen() -> None:
    racks = Racks()
    racks.append()
    racks.stop_broker(3)
    racks.turns()
    assert racks.preferred("b", 0) == 2
