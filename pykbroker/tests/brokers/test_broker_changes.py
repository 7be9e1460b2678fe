"""Any order of stops, starts, moves, elections, new topics, writes and ends of the process: there is never more than one
leader, it lives and is in sync, leader epochs never fall, and what was acknowledged is there at the end.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pykbroker.controller.elections import ElectionType
from pykbroker.controller.reassignments import plan_reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.handlers import elect_leaders
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

BROKERS = (1, 2, 3)
REPLICAS = [list(chosen) for count in BROKERS for chosen in itertools.permutations(BROKERS, count)]


class BrokerChanges(RuleBasedStateMachine):
    """Three brokers over one simulated disk."""

    def __init__(self) -> None:
        super().__init__()
        self.world = MemoryCluster(brokers=len(BROKERS))
        self.epochs: dict[tuple[bytes, int], int] = defaultdict(int)
        self.acknowledged: dict[str, list[bytes]] = {}
        self.written = 0

    @property
    def running(self) -> list[int]:
        return sorted(self.world.cluster.brokers)

    @precondition(lambda self: self.running)
    @rule(replicas=st.sampled_from(REPLICAS), min_isr=st.integers(1, 3))
    def create(self, replicas: list[int], min_isr: int) -> None:
        name = f"t{len(self.acknowledged)}"
        topic = NewTopic(name, -1, -1, [(0, replicas)], configs={"min.insync.replicas": str(min_isr)})
        (result,) = self.world.cluster.controller.create_topics([topic]).value.result
        assert (result.error is None) == bool(set(replicas) & set(self.running))
        if result.error is None:
            self.acknowledged[name] = []

    @precondition(lambda self: self.running)
    @rule(data=st.data(), abrupt=st.booleans())
    def stop(self, data: st.DataObject, abrupt: bool) -> None:
        node_id = data.draw(st.sampled_from(self.running))
        if not abrupt:
            self.world.lifecycle.begin_stop(node_id)
            self.one_leader_that_lives()
        self.world.lifecycle.stop(node_id)

    @precondition(lambda self: len(self.running) < len(BROKERS))
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        stopped = sorted(set(BROKERS) - set(self.running))
        self.world.lifecycle.start(data.draw(st.sampled_from(stopped)))

    @rule(kill=st.booleans())
    def restart_the_process(self, kill: bool) -> None:
        self.world.restart(kill=kill)

    @precondition(lambda self: self.acknowledged)
    @rule(data=st.data(), replicas=st.one_of(st.none(), st.sampled_from(REPLICAS)))
    def reassign(self, data: st.DataObject, replicas: list[int] | None) -> None:
        topic = data.draw(st.sampled_from(sorted(self.acknowledged)))
        controller = self.world.cluster.local_controller
        try:
            record = plan_reassignment(controller.image, topic, 0, replicas)
        except KafkaError:  # there is none to take back, or its last replica in sync would go
            return
        controller.commit([] if record is None else [record])

    @precondition(lambda self: self.running)
    @rule(kind=st.sampled_from(ElectionType))
    def elect(self, kind: ElectionType) -> None:
        request = ElectLeadersRequest(election_type=kind, topic_partitions=None)
        broker = self.world.cluster.brokers[self.running[0]]
        elect_leaders.handle(broker, None, request)  # type: ignore[arg-type]  # the context is not looked at

    @precondition(lambda self: self.acknowledged and self.running)
    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        topic = data.draw(st.sampled_from(sorted(self.acknowledged)))
        node_id = data.draw(st.sampled_from(self.running))
        self.written += 1
        value = b"%d" % self.written
        batch = encode_batch([Record(offset=0, timestamp=self.world.clock.now_ms(), key=None, value=value, headers=[])])
        asked = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        answer = self.world.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[asked]), 10, broker=node_id)
        code = answer.responses[0].partition_responses[0].error_code
        partition = self.world.cluster.partition(topic, 0)
        image = self.world.cluster.metadata.image
        needed = min(int(image.topic_config(topic)["min.insync.replicas"]), len(partition.replicas))
        if node_id != partition.leader:
            assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif len(partition.isr) < needed:
            assert code == ErrorCode.NOT_ENOUGH_REPLICAS
        else:
            assert code == 0
            self.acknowledged[topic].append(value)

    @invariant()
    def one_leader_that_lives(self) -> None:
        image = self.world.cluster.metadata.image
        alive = {broker.id for broker in image.brokers.values() if broker.active}
        assert alive <= set(self.running)
        for topic in image.topics.values():
            for partition in topic.in_order():
                assert partition.leader == -1 or partition.leader in alive & set(partition.isr)
                assert partition.leader != -1 or not alive & set(partition.replicas)
                assert set(partition.isr) <= set(partition.replicas)
                key = (topic.id, partition.index)
                assert partition.leader_epoch >= self.epochs[key]
                self.epochs[key] = partition.leader_epoch
                followed = self.world.cluster.partition(topic.name, partition.index)
                assert (followed.leader, followed.leader_epoch) == (partition.leader, partition.leader_epoch)

    def teardown(self) -> None:
        for node_id in set(BROKERS) - set(self.running):
            self.world.lifecycle.start(node_id)
        for topic, values in self.acknowledged.items():
            assert self.world.read(topic) == values


BrokerChanges.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
TestBrokerChanges = BrokerChanges.TestCase
