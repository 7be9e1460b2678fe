"""Transactions by state, and the one that is open for long."""

from __future__ import annotations

from confluent_kafka import Producer

from pykbroker.tests.http.http_client import of, with_http


def test_open_ended_and_late() -> None:
    with with_http(clock="manual") as http:
        http.kafka.create_topic("t")
        assert http.metrics()["pykbroker_transaction_oldest_seconds"] == {(): 0}
        settings = {"bootstrap.servers": http.kafka.bootstrap_servers, "transaction.timeout.ms": 60_000}
        first, second = (Producer({**settings, "transactional.id": name}) for name in ("first", "second"))
        for each in (first, second):
            each.init_transactions(20)
            each.begin_transaction()
            each.produce("t", b"v")
            assert each.flush(20) == 0
        second.abort_transaction(20)
        http.kafka.advance("30s")
        found = http.metrics()
        states = found["pykbroker_transactions"]
        assert (of(states, state="Ongoing"), of(states, state="CompleteAbort"), of(states, state="Empty")) == (1, 1, 0)
        assert found["pykbroker_transaction_oldest_seconds"] == {(): 30}
        assert found["pykbroker_transactions_late"] == {(): 0}
        lag = of(found["kafka_cluster_partition_laststableoffsetlag"], topic="t", partition="0")
        assert lag == 3  # its own record, the other's, and that one's marker
        del first, second, each  # a request of theirs would give timers their turn
        sockets = http.kafka.node.server.sockets(1)
        http.kafka.wait_until(lambda _: not sockets.connections)
        http.kafka._ask(lambda cluster: cluster.runtime.clock.advance(31_000))
        assert http.metrics()["pykbroker_transactions_late"] == {(): 1}
        http.kafka.advance("11s")
        found = http.metrics()
        assert found["pykbroker_transactions_late"] == {(): 0}
        assert found["pykbroker_transaction_oldest_seconds"] == {(): 0}
