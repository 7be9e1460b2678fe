"""Brokers, partitions and the controller while a broker stops and comes back."""

from __future__ import annotations

from pykbroker.tests.http.http_client import Samples, of, with_http

_MANAGER = "kafka_server_replicamanager_"
_CONTROLLER = "kafka_controller_kafkacontroller_"
_PARTITION = "kafka_topic_partition_"
_HERE = {"topic": "t", "partition": "0"}


def test_a_broker_is_stopped_and_started() -> None:
    with with_http(brokers=2, settings={"auto.leader.rebalance.enable": "false"}) as http:
        http.kafka.create_topic("t", 2, replication_factor=2, configs={"min.insync.replicas": 2})
        http.kafka.create_topic("single", 2)
        http.kafka.produce("t", "v", partition=0)
        first = http.metrics()
        assert first["kafka_brokers"] == {(): 2}
        assert len(first["kafka_broker_info"]) == 2
        assert sum(first[_MANAGER + "leadercount"].values()) == 4
        assert sum(first[_MANAGER + "partitioncount"].values()) == 6
        assert _by_broker(first, "underreplicatedpartitions") == [0, 0]
        assert of(first[_PARTITION + "in_sync_replica"], **_HERE) == of(first[_PARTITION + "replicas"], **_HERE) == 2
        assert of(first["kafka_cluster_partition_atminisr"], **_HERE) == 1
        assert first[_CONTROLLER + "preferredreplicaimbalancecount"] == {(): 0}

        http.kafka.broker(2).stop()
        down = http.metrics()
        assert (down["kafka_brokers"], down[_CONTROLLER + "fencedbrokercount"]) == ({(): 1}, {(): 1})
        assert _by_broker(down, "underreplicatedpartitions") == [2]
        assert _by_broker(down, "underminisrpartitioncount") == [2]
        assert down[_CONTROLLER + "offlinepartitionscount"] == {(): 1}
        assert down[_CONTROLLER + "preferredreplicaimbalancecount"] == {(): 2}
        assert down[_MANAGER + "isrshrinks_total"] == {(): 3}
        assert down["pykbroker_leader_changes_total"] == {(): 2}
        assert of(down["kafka_cluster_partition_underminisr"], **_HERE) == 1
        assert of(down[_PARTITION + "under_replicated_partition"], **_HERE) == 1
        leaders = {dict(key)["topic"]: value for key, value in down[_PARTITION + "leader"].items() if value != 1}
        assert leaders == {"single": -1}

        http.kafka.broker(2).start()
        http.kafka.wait_for_in_sync()
        back = http.metrics()
        assert back[_MANAGER + "isrexpands_total"] == {(): 3}
        assert back[_CONTROLLER + "offlinepartitionscount"] == {(): 0}
        assert sum(back[_PARTITION + "leader_is_preferred"].values()) == 3


def test_the_lag_of_a_broker_that_is_cut_off() -> None:
    with with_http(brokers=3, settings={"min.insync.replicas": "1", "replica.lag.time.max.ms": "500"}) as http:
        http.kafka.create_topic("t", 1, replication_factor=3)
        http.kafka.create_topic("alone", 1, replication_factor=1)
        http.kafka.move_leader("t", 0, to=1)
        http.kafka.produce("alone", "v")
        http.kafka.broker(3).partition_from(1)
        for _ in range(3):
            http.kafka.produce("t", "v")
        lag = "kafka_server_replicafetchermanager_maxlag"
        assert [value for _, value in sorted(http.metrics()[lag].items())] == [0, 0, 3]
        http.kafka.broker(3).heal()
        http.kafka.wait_until(lambda cluster: cluster.brokers[3].partition("t", 0).log_end_offset == 3)
        assert [value for _, value in sorted(http.metrics()[lag].items())] == [0, 0, 0]


def test_the_bytes_of_throttled_replicas() -> None:
    with with_http(brokers=2) as http:
        throttled = {f"{side}.replication.throttled.replicas": "*" for side in ("leader", "follower")}
        http.kafka.create_topic("free", 1, replication_factor=2)
        http.kafka.create_topic("t", 1, replication_factor=2, configs=throttled)
        http.kafka.move_leader("t", 0, to=1)
        sent, fetched = "kafka_server_leaderreplication_byte_rate", "kafka_server_followerreplication_byte_rate"
        http.kafka.produce("free", "v" * 1000)
        http.kafka.wait_for_in_sync()
        assert set(http.metrics()[sent].values()) == set(http.metrics()[fetched].values()) == {0}
        http.kafka.produce("t", "v" * 1000)
        http.kafka.wait_until(lambda cluster: cluster.brokers[2].partition("t", 0).log_end_offset == 1)
        rates = http.metrics()
        assert of(rates[sent], broker="1") > 0 == of(rates[sent], broker="2")
        assert of(rates[fetched], broker="2") > 0 == of(rates[fetched], broker="1")


def _by_broker(samples: Samples, name: str) -> list[float]:
    return [value for _, value in sorted(samples[_MANAGER + name].items())]
