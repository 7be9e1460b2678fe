"""What a test has, met with what else it has: the clock and a reset, a rebalance and the clock, faults and a snapshot."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from confluent_kafka import Producer

from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import Unreachable
from pykbroker.testing import Kafka
from pykbroker.tests.network.sayings import ask
from pykbroker.tests.network.test_connection import produce
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.produce import ProduceResponse
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


@pytest.fixture
def still() -> Iterator[Kafka]:
    with Kafka(clock="manual") as kafka:
        yield kafka


def connect(kafka: Kafka) -> BrokerConnection:
    return connect_to(kafka.bootstrap_servers)


def connect_to(address: str) -> BrokerConnection:
    host, _, port = address.rpartition(":")
    return BrokerConnection(host, int(port), timeout_s=20, client_id="c")


def join(connection: BrokerConnection, member_id: str = "") -> JoinGroupResponse:
    """In version 3, where a member needs no id before; it has an hour of session, and ten seconds for a rebalance."""
    connection.call(FindCoordinatorRequest(key="g"), FindCoordinatorResponse, 3)
    protocols = [JoinGroupRequestProtocol("range", b"\0\0" + bytes(8))]
    request = JoinGroupRequest("g", 1_800_000, 10_000, member_id, None, "consumer", protocols)
    joined = connection.call(request, JoinGroupResponse, 3)
    connection.call(SyncGroupRequest("g", joined.generation_id, joined.member_id), SyncGroupResponse, 2)
    return joined


def test_who_does_not_join_again_in_time_is_out_of_the_group(still: Kafka) -> None:
    first, second = connect(still), connect(still)
    joined = join(first)
    assert joined.error_code == ErrorCode.NONE
    still.wait_for_group("g", "Stable", members=1)

    answer: Future[JoinGroupResponse] = Future()
    joining = threading.Thread(target=lambda: answer.set_result(join(second)))
    joining.start()
    still.wait_for_group("g", "PreparingRebalance", members=2)
    still.advance("9s")
    assert still.group("g").state == "PreparingRebalance"
    assert not answer.done()
    still.advance("1s")
    joining.join()
    now = answer.result()
    assert (now.error_code, now.leader, len(now.members)) == (0, now.member_id, 1)
    assert [member.member_id for member in still.group("g").members] == [now.member_id]
    first.close()
    second.close()


def test_time_goes_on_after_a_reset_and_what_was_due_before_is_forgotten(still: Kafka) -> None:
    connection = connect(still)
    join(connection)
    connection.close()
    still.advance("10m")
    before = still.node.cluster.runtime.clock.now_ms()
    still.reset()
    assert still.node.cluster.runtime.clock.now_ms() == before
    connection = connect(still)
    member = join(connection).member_id
    still.advance("25m")  # the first member's half an hour would be over
    assert [each.member_id for each in still.group("g").members] == [member]
    still.advance("5m")
    assert still.group("g").state in ("Empty", "Dead")
    connection.close()


@pytest.mark.parametrize("back", ["restore", "reset"])
def test_a_request_that_a_fault_holds_goes_with_the_state_it_was_sent_to(back: str) -> None:
    with Kafka() as kafka:
        kafka.create_topic("t")
        kafka.snapshot("empty")
        # Without KIP-899: a client that begins anew from its bootstrap servers closes connections with requests in flight, and sends
        # these again.
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50,
             "retry.backoff.ms": 10, "metadata.recovery.strategy": "none"}
        )  # fmt: skip
        held = kafka.faults.add("Produce", hold=True)
        told: list[str] = []
        producer.produce("t", b"v", on_delivery=lambda error, _: told.append("v" if error is None else error.name()))
        held.wait()
        if back == "restore":
            kafka.restore("empty")
        else:
            kafka.reset()
            kafka.create_topic("t")
        assert kafka.faults.list() == []
        assert producer.flush(20) == 0
        # It was carried out just before, and so it is not sent again: a client that outlives its test troubles no other.
        assert told == ["v"]
        assert kafka.records("t") == []
        with kafka.faults.add("Produce", delay="1ms", times=1) as again:
            producer.produce("t", b"w")
            assert producer.flush(20) == 0
            assert again.fired == 1
        assert [each.value for each in kafka.records("t")] == [b"w"]


def test_a_snapshot_has_no_faults_in_it() -> None:
    with Kafka() as kafka:
        with kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="u", times=1) as fault:
            kafka.snapshot("while it fails")
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "retry.backoff.ms": 10})
            producer.produce("u", b"v")
            assert producer.flush(20) == 0
            assert fault.fired == 1
        kafka.restore("while it fails")
        assert kafka.faults.list() == []
        producer.produce("u", b"w")
        assert producer.flush(20) == 0


PRODUCE = produce(b"v")
FRAME = len(ask(PRODUCE, 9)).to_bytes(4, "big") + ask(PRODUCE, 9)
LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
}


def test_what_a_client_sent_while_he_was_muted_is_gone_with_a_reset() -> None:
    """On every listener: nothing that was received before is carried out after it, whenever the mute would have ended."""
    with Kafka(LISTENERS) as kafka:
        kafka.create_topic("t")
        everybody = AlterClientQuotasRequestEntryData(
            [EntityData("client-id", None)], [OpData("producer_byte_rate", 1.0)]
        )
        listeners = kafka.node.summary()["brokers"][0]["listeners"]
        with contextlib.ExitStack() as stack:
            talks = [stack.enter_context(contextlib.closing(connect_to(where))) for where in listeners.values()]
            talks[0].call(AlterClientQuotasRequest([everybody]), AlterClientQuotasResponse, 1)
            for talk in talks:
                assert talk.call(PRODUCE, ProduceResponse, 9).throttle_time_ms > 1000
                for _ in range(3):
                    talk.send(PRODUCE, 9)
            before, timers = len(kafka.records("t")), kafka.node.cluster.runtime.client_timers
            kafka.reset()
            kafka.create_topic("t")
            assert before == len(talks)
            mutes = [timer for _, _, timer in timers._heap if not timer.cancelled]
            assert len(mutes) >= len(talks)
            kafka._embedded.call(lambda: [timer.fire() for timer in mutes])
            for talk in talks:
                with pytest.raises(Unreachable):
                    talk.receive(ProduceResponse)
            assert kafka.records("t") == []
        fresh = connect(kafka)
        assert fresh.call(PRODUCE, ProduceResponse, 9).throttle_time_ms == 0
        fresh.close()
        assert len(kafka.records("t")) == 1


@pytest.mark.parametrize("limit", [{"max.connections": 1}, {"max.connection.creation.rate": 1, "quota.window.num": 2}])
def test_who_waits_to_be_let_in_is_cut_by_a_reset(limit: dict[str, object]) -> None:
    """To clients it looks the same as to be connected, and what they have said is for brokers that are no more."""
    with Kafka(limit) as kafka, contextlib.ExitStack() as stack:
        kafka.create_topic("t")
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        waiting = [stack.enter_context(socket.create_connection((host, int(port)), 20)) for _ in range(8)]
        for each in waiting:
            each.sendall(FRAME)
        kafka.wait_for_record("t")
        kafka.reset()
        kafka.create_topic("t")
        for each in waiting:
            with contextlib.suppress(ConnectionError):
                while each.recv(1000):
                    pass
        assert kafka.records("t") == []
