"""What befalls a cluster by chaos is drawn from what its state allows, and happens by real means."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from pykbroker.client.client import TRANSACTION, Client, parse_bootstrap
from pykbroker.faults.chaos_tape import LONGEST_DOWN_MS, ClusterOutcome
from pykbroker.steered.chaos_means import _LARGEST_STEP_MS, _LEAST_STEP_MS, RealMeans
from pykbroker.testing import Kafka
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 50,
    "transaction.state.log.replication.factor": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
}
PATIENCE_S = 30.0
HOUR_MS = 3_600_000


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with Kafka(SETTINGS) as kafka:
        yield kafka


@pytest.fixture
def client(kafka: Kafka) -> Iterator[Client]:
    with Client(parse_bootstrap(kafka.bootstrap_servers), timeout_s=PATIENCE_S, client_id="c") as client:
        yield client


def drawn(kafka: Kafka, name: str, *clients: str) -> ClusterOutcome | None:
    """What is drawn of a kind, where these clients have asked something."""
    means = RealMeans(kafka.node, lambda *_: clients)
    return kafka._here.call(means.drawn, name, Random(1), 5)


def carried_out(kafka: Kafka, outcome: ClusterOutcome) -> None:
    kafka._here.begin(RealMeans(kafka.node, lambda *_: ()).carry_out(outcome)).result()


def joined(client: Client, session_ms: int) -> JoinGroupResponse:
    """A member of the group g, alone in it."""
    joins = JoinGroupRequest(
        "g", session_ms, 5000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
    )
    return client.coordinator("g").call(joins, JoinGroupResponse, 3)


def begun(client: Client, timeout_ms: int) -> None:
    """A transaction of t-0 by the transactional id x."""
    coordinator = client.coordinator("x", TRANSACTION)
    made = coordinator.call(InitProducerIdRequest("x", timeout_ms), InitProducerIdResponse, 4)
    assert made.error_code == 0
    adds = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=made.producer_id,
        v3_and_below_producer_epoch=made.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
    )
    answer = coordinator.call(adds, AddPartitionsToTxnResponse, 3)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0


def test_a_state_that_allows_few_kinds(kafka: Kafka) -> None:
    """One broker, no topic, no group and no transaction."""
    names = RealMeans(kafka.node, lambda *_: ()).names
    allowed = {"records expired", "offsets expired", "clock step"}
    assert {name for name in names if drawn(kafka, name, "c") is not None} == allowed


def test_several_brokers_move_stop_and_are_cut_off() -> None:
    with Kafka({"default.replication.factor": 2}, brokers=2) as kafka:
        kafka.create_topic("t", 1)
        moved = drawn(kafka, "leader moved")
        assert moved is not None
        assert (moved.topic, moved.partition) == ("t", 0)
        carried_out(kafka, moved)
        assert kafka.node.cluster.metadata.image.topics["t"].partitions[0].leader == moved.broker
        down = drawn(kafka, "brokers cut off")
        assert down is not None
        assert 500 <= down.down_ms <= 5000
        peers = kafka.node.cluster.peers
        assert peers is not None
        going_on = kafka._here.begin(
            RealMeans(kafka.node, lambda *_: ()).carry_out(ClusterOutcome(0, "brokers cut off", 2, down_ms=200))
        )
        assert kafka._here.call(lambda: list(peers.apart)) == [2]
        going_on.result()
        assert peers.apart == []


def test_what_a_test_has_cut_off_stays_so_when_chaos_has_cut_off_the_same() -> None:
    settings = {"default.replication.factor": 2, "replica.lag.time.max.ms": 500, "replica.fetch.backoff.ms": 1}
    with Kafka(settings, brokers=2) as kafka:
        kafka.create_topic("t", 1)
        kafka.broker(1).partition_from(2)
        carried_out(kafka, ClusterOutcome(0, "brokers cut off", 2, down_ms=1))
        kafka.produce("t", b"v")  # is there as soon as the follower has left
        assert len(kafka.node.cluster.metadata.image.topics["t"].partitions[0].isr) == 1
        kafka.broker(1).heal()
        kafka.wait_for_in_sync()


def test_the_session_of_a_member_expires_while_nothing_of_it_comes(kafka: Kafka, client: Client) -> None:
    member = joined(client, 2000)  # longer than this process stands still
    outcome = drawn(kafka, "session expired")
    assert outcome == ClusterOutcome(5, "session expired", 1, down_ms=2500, client="c")
    carried_out(kafka, outcome)
    beats = HeartbeatRequest("g", member.generation_id, member.member_id)
    assert client.coordinator("g").call(beats, HeartbeatResponse, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_session_that_lasts_longer_than_any_silence_is_left_alone(kafka: Kafka, client: Client) -> None:
    joined(client, LONGEST_DOWN_MS)
    assert drawn(kafka, "session expired") is None


def test_a_transaction_times_out_while_nothing_of_its_client_comes(kafka: Kafka, client: Client) -> None:
    kafka.create_topic("t", 1)
    begun(client, 3000)
    assert drawn(kafka, "transaction timed out") is None  # nobody is known to have one
    assert drawn(kafka, "transaction timed out", "c") == ClusterOutcome(
        5, "transaction timed out", 1, down_ms=3600, client="c"
    )


def test_records_and_offsets_expire_only_where_their_time_is_over(kafka: Kafka, client: Client) -> None:
    kafka.create_topic("short", 1, configs={"retention.ms": 1})
    kafka.create_topic("long", 1)
    for topic in ("short", "long"):
        kafka.produce(topic, b"v", timestamp_ms=int(time.time() * 1000) - HOUR_MS)
        for group, kept_ms in (("ends", 0), ("stays", -1)):  # 0: it has expired at once, however fast this machine is
            position = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 1)])
            commits = OffsetCommitRequest(group, -1, "", retention_time_ms=kept_ms, topics=[position])
            client.coordinator(group).call(commits, OffsetCommitResponse, 4)
    outcomes = [drawn(kafka, name) for name in ("records expired", "offsets expired")]
    for outcome in outcomes:
        assert outcome is not None
        carried_out(kafka, outcome)
    kafka.wait_until(lambda _: not kafka.node.cluster.brokers[1].runtime.slices)
    assert {topic: len(kafka.records(topic)) for topic in ("short", "long")} == {"short": 0, "long": 1}
    assert kafka.committed("ends") == {}
    assert kafka.committed("stays") == {("short", 0): 1, ("long", 0): 1}


def test_a_topic_is_made_again_with_its_settings(kafka: Kafka) -> None:
    kafka.create_topic("t", 2, configs={"retention.ms": 77})
    kafka.produce("t", b"v")
    before = kafka.node.cluster.metadata.image.topics["t"]
    outcome = drawn(kafka, "topic made again")
    assert outcome is not None
    carried_out(kafka, outcome)
    image = kafka.node.cluster.metadata.image
    assert image.topics["t"].id != before.id
    assert len(image.topics["t"].partitions) == 2
    assert image.topic_config("t") == {"retention.ms": "77"}
    assert kafka.records("t") == []


def test_the_wall_clock_is_wrong_for_a_while_and_no_other(kafka: Kafka) -> None:
    outcome = drawn(kafka, "clock step")
    assert outcome is not None
    assert _LEAST_STEP_MS <= abs(outcome.ahead_ms) <= _LARGEST_STEP_MS
    clock = kafka.node.cluster.runtime.clock
    off = ClusterOutcome(5, "clock step", 1, down_ms=LONGEST_DOWN_MS, ahead_ms=-900_000)

    async def course() -> list[float]:
        """How far the clocks are ahead while it goes on, and when its life has ended."""
        going_on = asyncio.ensure_future(RealMeans(kafka.node, lambda *_: ()).carry_out(off))
        await asyncio.sleep(0)
        seen = [clock.now_ms() / 1000 - time.time(), clock.monotonic() - time.monotonic()]
        going_on.cancel()
        await asyncio.wait([going_on])
        return [*seen, clock.now_ms() / 1000 - time.time()]

    assert [round(each, -2) for each in kafka._here.begin(course()).result()] == [-900, 0, 0]


@pytest.mark.parametrize("allowed", [True, False])
def test_an_unclean_election_loses_what_the_leader_took_alone(allowed: bool) -> None:
    """Only topics that allow it are drawn."""
    settings = {"replica.lag.time.max.ms": 500, "unclean.leader.election.enable": allowed}
    with Kafka(settings, brokers=3) as kafka:
        kafka.create_topic("t", 1, replication_factor=3)
        kafka.produce("t", b"kept")
        kafka.wait_for_in_sync()
        outcome = drawn(kafka, "unclean election")
        if not allowed:
            assert outcome is None
            return

        def led() -> Any:
            return kafka.node.cluster.metadata.image.topics["t"].partitions[0]

        before = led()
        assert outcome == ClusterOutcome(5, "unclean election", before.leader, down_ms=1250)
        longer = ClusterOutcome(5, "unclean election", before.leader, down_ms=5000)
        going_on = kafka._here.begin(RealMeans(kafka.node, lambda *_: ()).carry_out(longer))
        kafka.produce("t", b"lost")  # is there as soon as the followers have left
        assert led().isr == [before.leader]
        going_on.result()
        kafka.wait_for_in_sync()
        assert led().leader_epoch > before.leader_epoch
        assert led().leader != before.leader
        assert [each.value for each in kafka.records("t")] == [b"kept"]


def test_a_leader_that_is_in_sync_too_long_has_no_unclean_election() -> None:
    """Its followers would not leave before the longest that anything lasts."""
    with Kafka({"replica.lag.time.max.ms": 60_000, "unclean.leader.election.enable": True}, brokers=2) as kafka:
        kafka.create_topic("t", 1, replication_factor=2)
        assert drawn(kafka, "unclean election") is None
